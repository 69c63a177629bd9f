package config

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"text/template/parse"
	"time"
	"unicode"

	"sm/dashboards/screen"
	"sm/dashboards/screen/plain"
	"sm/observer/socket"
)

const (
	maxTime = 10 * 365 * 24 * time.Hour
	maxPort = 65535
	// maxTexts bounds a message template.
	maxTexts = 4096
	// maxProblems bounds how many problems one line lists.
	maxProblems = 5
)

// check holds every value to its tags. The error says of each that is wrong where it was set and what it must be, in the
// order of the keys.
func (c *Config) check(from origins) error {
	var wrong []string
	add := func(path, text string) {
		switch at := from.of(path); {
		case text == "":
		case at == "":
			wrong = append(wrong, path+" "+text)
		default:
			wrong = append(wrong, at+": "+path+" "+text)
		}
	}
	rules := c.rules()
	for _, key := range c.settings() {
		seen := map[string]bool{}
		for _, s := range key.values() {
			text := s.outside()
			if rule := rules[s.tag.Get("is")]; text == "" && rule != nil {
				text = rule(s)
			}
			if value := fmt.Sprint(s.value); s.tag.Get("unique") != "" && value != "" {
				if id := leaf(s.path) + " " + value; text == "" && seen[id] {
					text = "repeats " + plain.Quote(value) + "; remove one of the two"
				} else {
					seen[id] = true
				}
			}
			add(s.path, text)
			add(s.path, s.above())
		}
	}
	if more := len(wrong) - maxProblems; more > 0 {
		wrong = append(wrong[:maxProblems], fmt.Sprintf("and %d more to correct", more))
	}
	if wrong == nil {
		return nil
	}
	return errors.New(strings.Join(wrong, "; "))
}

// outside says how a value is out of its bounds, "" for one that is not.
func (s setting) outside() string {
	bounds := s.tag.Get("bounds")
	low, high, _ := strings.Cut(strings.TrimPrefix(bounds, ">"), "..")
	if words := s.tag.Get("oneof"); words != "" && !strings.Contains(","+words+",", ","+s.value.String()+",") {
		list := strings.Split(words, ",")
		last := len(list) - 1
		return fmt.Sprintf(
			"must be %s or %s, not %s",
			strings.Join(list[:last], ", "),
			list[last],
			plain.Quote(s.value.String()),
		)
	}
	switch v := s.value.Interface().(type) {
	case time.Duration:
		least, _ := time.ParseDuration(low)
		switch {
		case bounds == ">0" && v == 0:
			return "must be longer than 0"
		case v < 0:
			return "must not be negative, as " + shortDuration(v) + " is"
		case v < least:
			return "must be at least " + low + ", not " + shortDuration(v)
		case v > maxTime:
			return "must be at most ten years, not " + shortDuration(v)
		}
	case int:
		if bounds == "" {
			return ""
		}
		if least, _ := strconv.Atoi(low); v < least {
			return fmt.Sprintf("must be at least %s, not %d", low, v)
		}
		if most, _ := strconv.Atoi(high); v > most {
			return fmt.Sprintf("must be at most %s, not %d", high, v)
		}
	case float64:
		if above := strings.HasPrefix(bounds, ">"); above && !(v > 0 && v <= 1) {
			return fmt.Sprintf("must be above 0 and at most 1, not %v", v)
		} else if !(v >= 0 && v <= 1) {
			return fmt.Sprintf("must be from 0 to 1, not %v", v)
		}
	}
	return ""
}

// above returns an error text if the value is not below the key that limits it.
// A limit of 0 is none.
func (s setting) above() string {
	show := func(v reflect.Value) string {
		if d, ok := v.Interface().(time.Duration); ok {
			return shortDuration(d)
		}
		return fmt.Sprint(v)
	}
	name := s.tag.Get("below")
	if name == "" {
		return ""
	}
	for _, limit := range (setting{value: s.group}).keys() {
		if limit.path == name && limit.value.Int() > 0 && s.value.Int() >= limit.value.Int() {
			return fmt.Sprintf("is %s and must be below %s, which is %s", show(s.value), name, show(limit.value))
		}
	}
	return ""
}

// rules say what is wrong with a value of a kind, "" for nothing.
func (c *Config) rules() map[string]func(setting) string {
	heard := map[string]bool{}
	text := func(wrong func(string) bool, format string) func(setting) string {
		return func(s setting) string {
			if v := fmt.Sprint(s.value); wrong(v) {
				return strings.ReplaceAll(format, "%", plain.Quote(v))
			}
			return ""
		}
	}
	return map[string]func(setting) string{
		"path":     checkPath,
		"template": checkTemplate,
		"channel":  checkChannel,
		"loopback": func(s setting) string { return checkAddress(s.value.String(), false, heard) },
		"address":  func(s setting) string { return checkAddress(s.value.String(), true, heard) },
		"host": text(func(v string) bool { return v == "" || notHost(v) },
			"must be a host, or host:port, as it stands in a URL, not %"),
		"label": text(func(v string) bool {
			return strings.ContainsFunc(
				v,
				func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsGraphic(r) },
			)
		}, "must be the value of a label, without control characters, not %"),
		"uid": func(s setting) string {
			if uid := s.value.Int(); uid < 0 || uid > math.MaxUint32-1 {
				return fmt.Sprintf("must be a user id of 0 or more, not %d", uid)
			}
			return ""
		},
		"server": text(func(v string) bool {
			return v == "" || v == "1" || strings.ContainsFunc(v, func(r rune) bool {
				return r != '-' && r != '_' && r != '.' && (r > 'z' || !unicode.IsLetter(r) && !unicode.IsDigit(r))
			})
		}, "must be a name of letters, digits, dots and dashes, other than 1, not %"),
		"url": func(s setting) string {
			v := s.value.String()
			if u, err := url.Parse(v); err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
				return ""
			}
			if at := strings.LastIndexByte(v, '@'); at >= 0 { // before it there may be a password
				v = "…" + v[at:]
			}
			return "must be an address such as http://127.0.0.1:9090, not " + plain.Quote(v)
		},
		"model": text(func(v string) bool { return v == "" }, "is empty; give the beginning of a model's name"),
		"tool":  text(func(v string) bool { return strings.TrimSpace(v) == "" }, "is empty; give the name of a tool"),
		"argument": func(s setting) string {
			program := strings.HasSuffix(s.path, "[0]")
			return text(func(v string) bool { return program && v == "" || strings.Contains(v, "\x00") },
				"must be a program or its argument, not %")(s)
		},
	}
}

// checkAddress checks an address of listen, or metrics.listen, and that no other
// key has the same.
func checkAddress(addr string, scrapes bool, heard map[string]bool) string {
	host, port, err := splitAddress(addr)
	twice := port != 0 && heard[addr]
	heard[addr] = true
	switch {
	case scrapes && addr == "":
	case scrapes && err != nil:
		return "must be an address with its port such as 0.0.0.0:9464, not " + plain.Quote(addr)
	case scrapes && twice:
		return "repeats " + plain.Quote(addr) + " of listen; give it a port of its own"
	case scrapes:
	case err != nil:
		return "must be a loopback address with its port such as 127.0.0.1:8420, not " + plain.Quote(addr)
	case !loopback(host):
		return "is " + plain.Quote(addr) + ", which is not a loopback address; use metrics.listen for scrapes from elsewhere"
	case twice:
		return "repeats " + plain.Quote(addr) + "; remove one of the two"
	}
	return ""
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
	if notHost(host) {
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

// notHost finds characters that no host name has.
func notHost(s string) bool {
	return strings.ContainsAny(s, "/@?#*") || strings.ContainsFunc(s, func(r rune) bool {
		return r == unicode.ReplacementChar || !unicode.IsGraphic(r) || unicode.IsSpace(r)
	})
}

// checkPath takes an empty path for the default, or for none, but not in a list, unless it is optional there.
func checkPath(s setting) string {
	path := s.value.String()
	shown := plain.Quote(path)
	if forSecrets(s.path) {
		shown = "the text there, which is not shown as it may be a secret"
	}
	switch {
	case path == "" && (!s.entry || s.tag.Get("optional") != ""):
	case path == "":
		return "is empty; give a path"
	case strings.ContainsFunc(path, unicode.IsControl):
		return "holds a control character; give another path than " + shown
	case !filepath.IsAbs(path):
		return "must be an absolute path, or begin with ~/, not " + shown
	case s.path == "socket" && len(path) > socket.MaxPath:
		return fmt.Sprintf(
			"is %d bytes long and a socket's path has room for %d; give a shorter one",
			len(path),
			socket.MaxPath,
		)
	}
	return ""
}

func checkChannel(s setting) string {
	name := s.value.String()
	switch {
	case name == "":
		return "is empty; give the channel a name"
	case strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\`) || len(name) > 100 ||
		strings.ContainsFunc(name, unicode.IsControl):
		return "is part of file names, so it must be short, without slashes and without a dot in front, not " + plain.Quote(name)
	}
	return ""
}

// checkTemplate checks the form alone. Which names a template may use is known where it is executed.
func checkTemplate(s setting) string {
	text := s.value.String()
	if len(text) > maxTexts {
		return fmt.Sprintf("is %d bytes long; use at most %d", len(text), maxTexts)
	}
	tree := parse.New(s.path)
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(text, "", "", map[string]*parse.Tree{}); err != nil {
		return fmt.Sprintf("is not a template (%s); correct what stands in {{ }}",
			screen.OneLine(strings.TrimPrefix(err.Error(), "template: "+s.path+":")))
	}
	return ""
}
