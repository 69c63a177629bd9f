package config

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"text/template/parse"
	"time"
	"unicode"
)

const (
	maxTokens = 1_000_000_000
	maxCount  = 1_000_000
	maxTime   = 10 * 365 * 24 * time.Hour
	maxPort   = 65535
	// maxInject is the number of characters above which the client turns a hook's answer into a file.
	maxInject = 10_000
	// maxTexts bounds a message template.
	maxTexts = 4096
	// maxSocketPath is the longest path of a socket, in bytes, that observer and clients take.
	maxSocketPath = 103
	// maxProblems bounds how many problems one line lists.
	maxProblems = 5
)

// A problem is a setting that is out of bounds. The text says what it must be and does not repeat the key.
type problem struct {
	key  string
	text string
}

// problems collects what is wrong with a configuration, in the order of its keys.
type problems []problem

func (ps *problems) add(key, format string, args ...any) {
	*ps = append(*ps, problem{key, fmt.Sprintf(format, args...)})
}

// explain makes one error of the problems, each with where its setting was made.
func (o origins) explain(ps problems) error {
	var parts []string
	for i, p := range ps {
		if i == maxProblems {
			parts = append(parts, fmt.Sprintf("and %d more to correct", len(ps)-i))
			break
		}
		part := p.key + " " + p.text
		if from := o.of(p.key); from != "" {
			part = from + ": " + part
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return nil
	}
	return errors.New(strings.Join(parts, "; "))
}

// problems says what is wrong with the configuration, every problem with its key.
func (c *Config) problems() problems {
	var ps problems
	c.checkAddresses(&ps)
	c.checkPaths(&ps)
	c.checkLists(&ps)
	c.checkContextMonitor(&ps)
	c.checkCounts(&ps)
	c.checkDurations(&ps)
	c.checkTexts(&ps)
	return ps
}

func (c *Config) checkAddresses(ps *problems) {
	seen := map[string]bool{}
	for i, addr := range c.Listen {
		key := fmt.Sprintf("listen[%d]", i)
		host, port, err := splitAddress(addr)
		switch {
		case err != nil:
			ps.add(key, "must be a loopback address with its port such as 127.0.0.1:8420, not %s", Quote(addr))
		case !loopback(host):
			ps.add(key, "is %s, which is not a loopback address; use metrics.listen for scrapes from elsewhere", Quote(addr))
		case port != 0 && seen[addr]:
			ps.add(key, "repeats %s; remove one of the two", Quote(addr))
		}
		seen[addr] = true
	}
	if addr := c.Metrics.Listen; addr != "" {
		_, port, err := splitAddress(addr)
		switch {
		case err != nil:
			ps.add("metrics.listen", "must be an address with its port such as 0.0.0.0:9464, not %s", Quote(addr))
		case port != 0 && seen[addr]:
			ps.add("metrics.listen", "repeats %s of listen; give it a port of its own", Quote(addr))
		}
	}
	for i, host := range c.HTTP.AllowedHosts {
		if host == "" || strings.ContainsAny(host, "/@?#*") || strings.ContainsFunc(host, notGraphic) {
			ps.add(fmt.Sprintf("http.allowed_hosts[%d]", i), "must be a host, or host:port, as it stands in a URL, not %s", Quote(host))
		}
	}
	for i, uid := range c.HTTP.AllowedUIDs {
		if uid < 0 || uid > math.MaxUint32-1 {
			ps.add(fmt.Sprintf("http.allowed_uids[%d]", i), "must be a user id of 0 or more, not %d", uid)
		}
	}
}

// splitAddress takes an address apart. Ports are numbers: names differ between machines.
func splitAddress(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 0 || port > maxPort || text[0] == '+' {
		return "", 0, fmt.Errorf("port %q: not a number up to %d", text, maxPort)
	}
	if strings.ContainsAny(host, "/@?#*") || strings.ContainsFunc(host, notGraphic) {
		return "", 0, fmt.Errorf("host %q: not a host", host)
	}
	return host, port, nil
}

// loopback accepts what can only mean this machine. A name other than localhost may resolve to anything.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() && !ip.Is4In6() && ip.Zone() == ""
}

func notGraphic(r rune) bool {
	return r == unicode.ReplacementChar || !unicode.IsGraphic(r) || unicode.IsSpace(r)
}

func (c *Config) checkPaths(ps *problems) {
	for _, p := range c.paths() {
		switch path := *p.value; {
		case path == "" && p.optional:
		case path == "":
			ps.add(p.key, "is empty; give a path")
		case strings.ContainsFunc(path, unicode.IsControl):
			ps.add(p.key, "holds a control character; give another path than %s", Quote(path))
		case !filepath.IsAbs(path):
			ps.add(p.key, "must be an absolute path, or begin with ~/, not %s", Quote(path))
		}
	}
	if n := len(c.Socket); n > maxSocketPath {
		ps.add("socket", "is %d bytes long and a socket's path has room for %d; give a shorter one", n, maxSocketPath)
	}
}

func (c *Config) checkLists(ps *problems) {
	models := map[string]bool{}
	for i, w := range c.Windows {
		key := fmt.Sprintf("windows[%d]", i)
		switch {
		case w.Model == "":
			ps.add(key+".model", "is empty; give the beginning of a model's name")
		case models[w.Model]:
			ps.add(key+".model", "repeats %s; remove one of the two", Quote(w.Model))
		}
		models[w.Model] = true
		ps.between(key+".tokens", w.Tokens, 1, maxTokens)
	}
	places := map[string]bool{}
	for i, ch := range c.Channels {
		key := fmt.Sprintf("channels[%d]", i)
		switch {
		case ch.Name == "":
			ps.add(key+".name", "is empty; give the channel a name")
		case strings.HasPrefix(ch.Name, ".") || strings.ContainsAny(ch.Name, `/\`) || len(ch.Name) > 100 ||
			strings.ContainsFunc(ch.Name, unicode.IsControl):
			ps.add(key+".name", "is part of file names, so it must be short, without slashes and without a dot in front, not %s", Quote(ch.Name))
		}
		if ch.Path != "" && places[ch.Path] {
			ps.add(key+".path", "repeats %s; remove one of the two", Quote(ch.Path))
		}
		places[ch.Path] = true
	}
	for i, tool := range c.Guard.Allow {
		if strings.TrimSpace(tool) == "" {
			ps.add(fmt.Sprintf("guard.allow[%d]", i), "is empty; give the name of a tool")
		}
	}
	for i, arg := range c.Operator.Notify {
		if i == 0 && arg == "" || strings.Contains(arg, "\x00") {
			ps.add(fmt.Sprintf("operator.notify[%d]", i), "must be a program or its argument, not %s", Quote(arg))
		}
	}
}

func (c *Config) checkContextMonitor(ps *problems) {
	m := c.ContextMonitor
	ps.between("context_monitor.warning_percentage", m.WarningPercentage, 1, 100)
	ps.between("context_monitor.critical_percentage", m.CriticalPercentage, 1, 100)
	if m.WarningPercentage >= m.CriticalPercentage {
		ps.add("context_monitor.warning_percentage", "is %d and must be below critical_percentage, which is %d",
			m.WarningPercentage, m.CriticalPercentage)
	}
	ps.between("context_monitor.warning_tokens", m.WarningTokens, 0, maxTokens)
	ps.between("context_monitor.critical_tokens", m.CriticalTokens, 0, maxTokens)
	if m.CriticalTokens > 0 && m.WarningTokens >= m.CriticalTokens {
		ps.add("context_monitor.warning_tokens", "is %d and must be below critical_tokens, which is %d",
			m.WarningTokens, m.CriticalTokens)
	}
	ps.between("context_monitor.warning_of_threshold", m.WarningOfThreshold, 0, 100)
	ps.between("context_monitor.critical_of_threshold", m.CriticalOfThreshold, 0, 100)
	if m.CriticalOfThreshold > 0 && m.WarningOfThreshold >= m.CriticalOfThreshold {
		ps.add("context_monitor.warning_of_threshold", "is %d and must be below critical_of_threshold, which is %d",
			m.WarningOfThreshold, m.CriticalOfThreshold)
	}
	if r := m.EarlyWarnRatio; !(r >= 0 && r <= 1) {
		ps.add("context_monitor.early_warn_ratio", "must be from 0 to 1, not %v", r)
	}
	if r := c.Guard.OverflowThreshold; !(r > 0 && r <= 1) {
		ps.add("guard.overflow_threshold", "must be above 0 and at most 1, not %v", r)
	}
}

func (c *Config) checkCounts(ps *problems) {
	ps.between("metrics.max_sessions", c.Metrics.MaxSessions, 1, maxCount)
	ps.between("compaction.threshold_tokens", c.Compaction.ThresholdTokens, 0, maxTokens)
	ps.between("context_monitor.forecast_turns", c.ContextMonitor.ForecastTurns, 0, maxCount)
	ps.between("storm.count", c.Storm.Count, 1, maxCount)
	ps.between("storm.turns", c.Storm.Turns, 0, maxCount)
	ps.between("queue.per_agent", c.Queue.PerAgent, 1, maxCount)
	ps.between("queue.message_bytes", c.Queue.MessageBytes, 1, 64<<10)
	ps.between("queue.per_sender_minute", c.Queue.PerSenderMinute, 1, maxCount)
	ps.between("handoff.breaker_count", c.Handoff.BreakerCount, 1, maxCount)
	ps.between("handoff.document_bytes", c.Handoff.DocumentBytes, 1, 16<<20)
	ps.between("handoff.inject_characters", c.Handoff.InjectCharacters, 1, maxInject)
	ps.between("supervise.restarts", c.Supervise.Restarts, 0, maxCount)
}

func (ps *problems) between(key string, n, least, most int) {
	switch {
	case n < least:
		ps.add(key, "must be at least %d, not %d", least, n)
	case n > most:
		ps.add(key, "must be at most %d, not %d", most, n)
	}
}

func (c *Config) checkDurations(ps *problems) {
	// Zero is a choice where it switches something off; elsewhere it would make the setting's purpose void.
	ps.lasting("metrics.session_ttl", c.Metrics.SessionTTL, true)
	ps.lasting("compaction.settle", c.Compaction.Settle, true)
	ps.lasting("context_monitor.no_data_after", c.ContextMonitor.NoDataAfter, false)
	ps.lasting("storm.within", c.Storm.Within, true)
	ps.lasting("reminders.soft", c.Reminders.Soft, false)
	ps.lasting("reminders.hard", c.Reminders.Hard, false)
	if soft, hard := c.Reminders.Soft, c.Reminders.Hard; hard > 0 && soft >= hard {
		ps.add("reminders.soft", "is %s and must be below hard, which is %s", shortDuration(soft), shortDuration(hard))
	}
	ps.lasting("reminders.compaction_wait", c.Reminders.CompactionWait, false)
	ps.lasting("queue.ttl", c.Queue.TTL, true)
	ps.lasting("handoff.expiry", c.Handoff.Expiry, true)
	ps.lasting("handoff.breaker_within", c.Handoff.BreakerWithin, true)
	ps.lasting("supervise.term_after", c.Supervise.TermAfter, false)
}

func (ps *problems) lasting(key string, d time.Duration, positive bool) {
	switch {
	case positive && d == 0:
		ps.add(key, "must be longer than 0")
	case d < 0:
		ps.add(key, "must not be negative, as %s is", shortDuration(d))
	case d > maxTime:
		ps.add(key, "must be at most ten years, not %s", shortDuration(d))
	}
}

func (c *Config) checkTexts(ps *problems) {
	switch c.Log.Level {
	case "debug", "info", "warn", "error":
	default:
		ps.add("log.level", "must be debug, info, warn or error, not %s", Quote(c.Log.Level))
	}
	switch c.Log.Format {
	case "text", "json":
	default:
		ps.add("log.format", "must be text or json, not %s", Quote(c.Log.Format))
	}
	for _, s := range c.settings() {
		if !strings.HasPrefix(s.path, "messages.") {
			continue
		}
		text := s.value.String()
		if len(text) > maxTexts {
			ps.add(s.path, "is %d bytes long; use at most %d", len(text), maxTexts)
			continue
		}
		// Which names a template may use is known where it is executed; here only its form is judged.
		tree := parse.New(s.path)
		tree.Mode = parse.SkipFuncCheck
		if _, err := tree.Parse(text, "", "", map[string]*parse.Tree{}); err != nil {
			ps.add(s.path, "is not a template (%s); correct what stands in {{ }}",
				oneLine(strings.TrimPrefix(err.Error(), "template: "+s.path+":")))
		}
	}
}
