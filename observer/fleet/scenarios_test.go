package fleet

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// TestScenarios plays the cases of testdata/scenarios. A case begins with "== name"; what
// precedes the first one is played before each. A line is a step, see stepOf, or a
// query and its answer, separated by "=>", see answer.
//
// Times are seconds. A client is AGENT@PID, %PANE@SERVER/PID, or AGENT@PID:START,
// with +KEY=VALUE for more.
func TestScenarios(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("testdata", "scenarios", "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		noErrors(t, err)
		cases := strings.Split(string(text), "\n== ")
		for _, c := range cases[1:] {
			name, script, _ := strings.Cut(c, "\n")
			t.Run(strings.TrimSuffix(
				filepath.Base(path),
				".txt",
			)+"/"+name, func(t *testing.T) {
				s := newScenario(t)
				s.script(cases[0])
				s.script(script)
			})
		}
	}
}

// script plays the lines of a case.
func (s *scenario) script(text string) {
	s.t.Helper()
	for line := range strings.Lines(text) {
		query, want, isQuery := strings.Cut(line, "=>")
		words := strings.Fields(query)
		switch {
		case isQuery:
			if got := s.answer(words); got != strings.TrimSpace(want) {
				s.t.Errorf("%s\ngot  %s\nwant %s", query, got, want)
			}
		case len(words) > 0:
			s.play(stepOf(words))
		}
	}
}

func number64(word string) float64 {
	n, err := strconv.ParseFloat(word, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// stepOf returns the step of a line: mostly the function of that name with its arguments.
func stepOf(words []string) step {
	n := func(i int) int { return int(number64(words[i])) }
	last := words[len(words)-1]
	switch words[0] {
	case "restarts":
		return restarts
	case "forget":
		return func(s *scenario) { s.news = Update{} }
	case "ends":
		return ends(n(1))
	case "holds":
		var held []int
		for i := range words[2:] {
			held = append(held, n(i+2))
		}
		return holds(number64(words[1]), held...)
	case "writes", "rewrites", "file":
		var lines []string
		for record := range strings.SplitSeq(strings.Join(words[2:], " "), " ; ") {
			lines = append(lines, linesOf(strings.Fields(record))...)
		}
		return func(s *scenario) {
			switch words[0] {
			case "file": // for "any order"
				s.found = append(s.found, newTestFile(pathOf(words[1]), lines...))
			case "writes":
				s.write(words[1], lines...)
			default:
				s.files[words[1]].lines = nil
				s.news.add(s.f.Apply(s.files[words[1]].add(lines...).met()))
			}
		}
	case "first": // start with the files found
		return func(s *scenario) {
			s.start(Stored{Created: created})
			for _, p := range s.found {
				s.f.Apply(p.whole())
			}
			s.news = s.f.Settle(created)
		}
	case "rereads":
		return func(s *scenario) { s.news.add(s.f.Apply(s.files[words[1]].met())) }
	case "gone":
		return func(s *scenario) { s.f.Apply(s.files[words[1]].gone()) }
	case "moves":
		return func(s *scenario) {
			p := s.files[words[1]]
			c := transcript.Change{From: p.path}
			p.move(pathOf(words[2]))
			grown := p.add(linesOf(words[3:])...).grown()
			grown.From = c.From
			s.news.add(s.f.Apply(grown))
		}
	}

	at := number64(words[1])
	switch words[0] {
	case "starts":
		return starts(at, n(2), words[3], originOf(last))
	case "fires", "hooked":
		p := hook.Payload{Event: hook.Event(words[3])}
		for key, value := range pairs(words[4 : len(words)-1]) {
			switch key {
			case "reason":
				p.Reason = value
			case "agentid":
				p.AgentID = value
			case "trigger":
				p.Trigger = value
			}
		}
		return hooked(at, n(2), p, originOf(last))
	case "shows":
		return shows(at, n(2), int64(n(3)), originOf(last))
	case "reports":
		return reports(at, n(2), statusOf(words[3]), originOf(last))
	case "clock":
		return func(s *scenario) { s.f.Clock(second(at)) }
	case "posts":
		return posts(at, pairs(words[2:]))
	case "paid":
		return paid(at, n(2), number64(words[3]), originOf(last))
	case "answers":
		return answers(at, n(2), n(3))
	case "continues":
		return continues(at, n(2), n(3))
	case "asks":
		return asks(at, n(2), strings.Join(words[3:], " "))
	case "says":
		return says(at, n(2), words[3], strings.Join(words[4:], " "))
	case "buries":
		return func(s *scenario) { s.f.MarkEnded(second(at)) }
	case "registers", "refused":
		p := pairs(words[2:])
		r := Registration{
			ID:      idOf(p["id"]),
			Name:    p["name"],
			Parent:  idOf(p["parent"]),
			Tmux:    p["tmux"],
			Pane:    p["pane"],
			Session: idOf(p["session"]),
		}
		if words[0] == "registers" {
			return registers(at, r)
		}
		return func(s *scenario) {
			_, err := s.f.Register(r, transcript.InstantOf(second(at)))
			remedy := cmp.Or(p["remedy"], "sm register web --name NAME")
			if err == nil || !strings.Contains(err.Error(), remedy) {
				s.t.Errorf("%+v: got error %v", r, err)
			}
		}
	}
	panic("unknown step " + words[0])
}

// linesOf returns the lines of one record of a transcript.
func linesOf(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	wrapped := func(skip int, start string) []string {
		return []string{start + linesOf(words[skip:])[0][1:]}
	}
	switch kind, n, _ := strings.Cut(words[0], "-"); kind {
	case "last":
		return []string{`{"type":"last-prompt","leafUuid":"00000000-0000-0000-0000-000000000000","explicit":true}`}
	case "raw":
		return []string{strings.Join(words[1:], " ")}
	case "side":
		return wrapped(1, `{"isSidechain":true,`)
	case "in": // a session's
		return wrapped(2, fmt.Sprintf(`{"sessionId":%q,`, idOf(words[1])))
	case "behind":
		return wrapped(2, fmt.Sprintf(`{"parentUuid":%q,`, words[1]))
	case "origin": // copied by a fork that names it
		return wrapped(
			2,
			fmt.Sprintf(`{"forkedFrom":{"sessionId":"x","messageUuid":%q},`, words[1]),
		)
	case "copy": // copied with another uuid
		return []string{strings.Replace(
			linesOf(words[1:])[0],
			`"uuid":"`,
			`"uuid":"copy-`+n+`-`,
			1,
		)}
	}

	at := 0.0
	stamp := ""
	if words[1] != "-" {
		at = number64(words[1])
		stamp = stampOf(at)
	}
	n := func(i int) int { return int(number64(words[i])) }
	switch words[0] {
	case "prompt":
		return []string{prompt(stamp, words[2])}
	case "reply":
		output := 10
		if len(words) > 4 {
			output = n(4)
		}
		return []string{reply(stamp, words[2], n(3), output)}
	case "replyas":
		return []string{replyAs(stamp, words[2], words[3], n(4), n(5))}
	case "boundary":
		return []string{boundary(stamp, words[2], words[3], n(4))}
	case "summary": // AT ID PARENT TEXT, - for a short one
		line := summary(stamp, words[2], strings.Trim(words[3], "-"), words[4])
		return []string{strings.ReplaceAll(line, "This session is being continued: -. ", "")}
	case "turn": // AT NUMBER PARENT TOKENS [RECORDS]
		lines := turn(at, n(2), strings.Trim(words[3], "-"), n(4))
		if len(words) > 5 {
			lines = lines[:n(5)]
		}
		return lines
	}
	panic("unknown record " + words[0])
}

// pathOf returns the path of a transcript: of session n for n, otherwise the word, with #n
// for the id of session n.
func pathOf(word string) string {
	if _, err := strconv.Atoi(word); err == nil {
		word = "#" + word + ".jsonl"
	}
	if before, after, ok := strings.Cut(word, "#"); ok {
		end := strings.IndexAny(after, "./")
		word = before + idOf("#"+after[:end]) + after[end:]
	}
	if !strings.HasPrefix(word, "/") {
		word = "/p/-home-dev-web/" + word
	}
	return word
}

// figuresText returns the figures of all sessions, by label.
func figuresText(f *Fleet) string {
	var out []string
	for v := range f.All(created) {
		out = append(out, fmt.Sprintf("%s: %v inherited %v, %d messages, output %d, %d subagents %d",
			v.Agent.Label, v.Compactions, v.Inherited, v.Messages, v.Tokens.Output, v.SubagentFiles, v.SideMessages))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func pairs(words []string) map[string]string {
	m := map[string]string{}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		m[key] = value
	}
	return m
}

// idOf returns an id, of session n for #n.
func idOf(word string) string {
	if n, ok := strings.CutPrefix(word, "#"); ok {
		return uuid(int(number64(n)))
	}
	return word
}

func originOf(word string) (o hook.Origin) {
	parts := strings.Split(word, "+")
	agent, process, _ := strings.Cut(parts[0], "@")
	server, inServer, inTmux := strings.Cut(process, "/")
	if inTmux {
		process = inServer
	}
	pid, start, hasStart := strings.Cut(process, ":")
	if pid != "" {
		o = from(agent, int(number64(pid)))
	}
	o.Agent = agent
	if hasStart {
		o.Start = start
	}
	if inTmux {
		o = inPane(agent, int(number64(server)), o.PID)
	}
	for key, value := range pairs(parts[1:]) {
		switch key {
		case "agent":
			o.Agent = value
		case "name":
			o.Name = value
		case "parent":
			o.Parent = value
		case "provider":
			o.Provider = value
		case "project":
			o.Project = value
		case "tmux":
			o.Tmux = value
			o.Agent = hook.TmuxAgent(value, o.Server, o.Pane)
		case "percent":
			o.AutoCompact.Percent = value
		case "off":
			o.AutoCompact.Off = true
		}
	}
	return o
}

// statusOf returns a report of the status line: TOKENS/WINDOW, percent=P without usage, or
// sums=VERSION/TOKENS/P of an old client, with sums over the session.
func statusOf(word string) hook.Status {
	kind, value, ok := strings.Cut(word, "=")
	if !ok {
		value = kind
	}
	fields := strings.Split(value, "/")
	n := func(i int) int64 { return int64(number64(fields[i])) }
	percent := func(p float64) hook.Figure[float64] {
		return hook.Figure[float64]{
			Value: p,
			Known: p > 0,
		}
	}
	st := status(0, 200_000)
	switch kind {
	case "nothing":
		return hook.Status{}
	case "zeros": // right after /compact
		st.Window.Usage = hook.Figure[hook.Usage]{Known: true}
		st.Window.UsedPercentage = hook.Figure[float64]{Known: true}
	case "odd": // a percentage of another window
		st = status(60_000, 200_000)
		st.Window.UsedPercentage = percent(6)
	case "percent":
		st.Window.UsedPercentage = percent(number64(value))
	case "sums":
		st.Version = fields[0]
		st.Window.TotalInput = hook.Figure[int64]{Value: 1_900_000, Known: true}
		if n(1) > 0 {
			st.Window.Usage = status(n(1), 200_000).Window.Usage
		}
		st.Window.UsedPercentage = percent(number64(fields[2]))
	default:
		return status(n(0), n(1))
	}
	return st
}

// posts returns a script's post.
func posts(at float64, p map[string]string) step {
	return func(s *scenario) {
		u := hook.ContextUsage{SessionID: "em"}
		if p["percent"] != "" {
			v := number64(p["percent"])
			u.UsedPercentage = &v
		}
		if p["total"] != "" {
			u.TotalInputTokens = int64(number64(p["total"]))
		}
		if p["window"] != "" {
			u.ContextWindowSize = int64(number64(p["window"]))
		}
		news, _, err := s.f.Usage(&u, transcript.InstantOf(second(at)))
		noErrors(s.t, err)
		s.news.add(news)
	}
}

// answer returns the answer to a query.
func (s *scenario) answer(words []string) string {
	s.t.Helper()
	at := created
	if len(words) > 1 {
		if n, err := strconv.ParseFloat(words[len(words)-1], 64); err == nil {
			at = second(n)
		}
	}
	view := func() View {
		v, err := s.f.View("em", at)
		noErrors(s.t, err)
		return v
	}
	switch words[0] {
	case "agents": // which session each is in, and how that came; the same after a restart
		got := s.present()
		s.play(restarts)
		if again := s.present(); again != got {
			s.t.Errorf("after a restart %s, want %s", again, got)
		}
		return got
	case "reach": // the agents that can be reached
		var got []string
		for _, v := range s.f.Views(at) {
			if s.f.Reachable(v.Agent.ID, at) {
				got = append(got, nameOf(v.Agent.ID))
			}
		}
		slices.Sort(got)
		return strings.Join(got, " ")
	case "place": // of the client of an agent
		p := s.f.Location(idOf(words[1])).At
		return strings.TrimSpace(fmt.Sprintf("%s %s@%d/%d", p.Tmux, p.Pane, p.Server, p.PID))
	case "reset": // the time of the last one
		got := ""
		for _, ev := range s.news.Events {
			if ev.Kind == alerts.EventReset {
				got = ev.At.Sub(created).Truncate(time.Millisecond).String()
			}
		}
		return got
	case "rewinds":
		var got []string
		for _, ev := range s.news.Events {
			if ev.Kind == alerts.EventReset && ev.Cause == alerts.CauseRewind {
				got = append(
					got,
					fmt.Sprintf(
						"%d %s..%s",
						ev.Tokens,
						secondOf(ev.Left),
						secondOf(ev.Until),
					),
				)
			}
		}
		return strings.Join(got, ", ")
	case "check": // of the status line; the same after a restart
		verdict := func() string {
			v := view()
			return strings.TrimSpace(fmt.Sprint(v.Check, " ", drift(v)))
		}
		got := verdict()
		restarts(s)
		if again := verdict(); again != got {
			s.t.Errorf("after a restart %q, want %q", again, got)
		}
		return got
	case "any": // order of the files
		return figuresText(inAllOrders(s.t, s.found))
	case "figures":
		return figuresText(s.f)
	case "counted":
		c := s.f.Counters()
		return fmt.Sprint("output=", c.Tokens.Output, " compactions=", c.Compactions)
	case "totals": // of session 1
		v, err := s.f.View(uuid(1), at)
		noErrors(s.t, err)
		return fmt.Sprintf("%d turns, peak %d, %d tokens", v.Turns, v.Peak, v.Reading.Tokens)
	case "path":
		return s.f.Views(at)[0].Path
	case "said":
		return strings.Join(s.said(), " ")
	case "context":
		v := view()
		_, known := v.Context()
		return fmt.Sprintf(
			"%d known=%t source=%v check=%s drift=%d",
			v.Reading.Tokens,
			known,
			v.Source,
			v.Check,
			drift(v),
		)
	case "doing": // session 1
		s.f.Activity(at)
		for v := range s.f.All(at) {
			if v.SessionID == uuid(1) {
				if !v.Left && s.f.active[v.Agent.ID] != v.Live {
					s.t.Errorf("live in its view: %t, active: %v", v.Live, s.f.active)
				}
				return fmt.Sprintf("live=%t ended=%t left=%t", v.Live, v.Ended, v.Left)
			}
		}
		return "nothing"
	case "waits":
		v := view()
		return strings.TrimSpace(fmt.Sprint(v.Waits, " ", v.Reason))
	case "policy": // the size of the context for the engine
		e, err := alerts.New(alerts.Defaults())
		noErrors(s.t, err)
		e.SetClock(at)
		for _, ev := range s.news.Events {
			e.Step(ev)
		}
		a := e.Agent(idOf(words[1]))
		return fmt.Sprintf("%d tokens in cycle %d", a.Tokens, a.Cycle)
	case "readings": // tokens and window of each event
		var got []string
		for _, ev := range s.news.Events {
			if ev.Tokens > 0 {
				got = append(got, fmt.Sprint(ev.Tokens, "/", ev.Window))
			}
		}
		s.news = Update{}
		return strings.Join(got, " ")
	case "window":
		v := view()
		return fmt.Sprint(v.Window.Tokens, " ", v.Window.Percent(v.Reading.Tokens), "%")
	case "sample":
		return fmt.Sprint(view().Agent.Sample.Tokens)
	case "labels":
		var got []string
		for v := range s.f.All(created) {
			if !v.Left {
				got = append(got, nameOf(v.Agent.ID)+"="+v.Agent.Label)
			} else if v.Agent.Label != "" {
				s.t.Errorf(
					"%s has been left and has the label %q",
					nameOf(v.SessionID),
					v.Agent.Label,
				)
			}
		}
		slices.Sort(got)
		return strings.Join(got, " ")
	case "seen": // parents by the events, and by those of a start
		var got []string
		for _, ev := range append(s.news.Events, s.f.Seen()...) {
			if ev.Name != "" {
				got = append(got, fmt.Sprintf("%s %s of %s", ev.Agent, ev.Name, ev.Parent))
			}
		}
		return strings.Join(got, ", ")
	case "who":
		v, err := s.f.View(words[1], created)
		noErrors(s.t, err)
		return fmt.Sprintf("%s %q %s %d", v.Agent.Label, v.Agent.Name, v.Agent.Pane, v.Agent.PID)
	case "cost":
		return fmt.Sprint(s.f.Counters().Cost.USD)
	case "today": // the reported and the estimated cost
		usd, _ := s.f.EstimatedToday(at)
		return fmt.Sprint(s.f.Counters().Today.Cost.USD, " ", *usd)
	case "assumed":
		var got []int64
		for _, ev := range s.news.Events {
			if ev.Agent == words[1] &&
				(ev.Kind == alerts.EventReading || ev.Kind == alerts.EventCompacted) {
				got = append(got, ev.CompactsAt)
			}
		}
		return fmt.Sprint(got)
	case "read":
		var offered time.Time
		if words[2] != "-" {
			offered = second(number64(words[2]))
		}
		until, known := s.f.ReadUntil(words[1], offered, at)
		if until.IsZero() {
			return fmt.Sprint("never ", known)
		}
		return fmt.Sprint(until.Sub(created).Seconds(), " ", known)
	case "replyread":
		return fmt.Sprint(s.f.ReplyRead(&hook.Payload{
			SessionID: uuid(1),
			Event:     hook.Stop,
			SM:        from("em", 7),
		}))
	}
	panic("unknown query " + words[0])
}

// drift returns the difference of the status line to the transcript, 0 if unknown.
func drift(v View) int64 {
	if v.Drift == nil {
		return 0
	}
	return *v.Drift
}

// present returns the session of each agent. An agent without a name is called #n after its
// session.
func (s *scenario) present() string {
	var sits, left, parents, out []string
	for _, x := range s.f.sessions {
		rec := x.record
		if a := s.f.agents[rec.Agent]; a == nil {
			sits = append(sits, nameOf(rec.Agent)+"="+nameOf(rec.SessionID))
		} else if a.Session != rec.SessionID {
			left = append(left, nameOf(rec.SessionID)+" left by "+nameOf(rec.Agent))
		}
	}
	for id, a := range s.f.agents {
		sits = append(sits, nameOf(id)+"="+nameOf(a.Session))
		if a.Parent != "" {
			parents = append(parents, nameOf(id)+" of "+nameOf(a.Parent))
		}
	}
	for _, list := range [][]string{sits, left, parents} {
		slices.Sort(list)
		out = append(out, list...)
	}
	for _, ev := range s.news.Events {
		if ev.Kind == alerts.EventReset {
			out = append(
				out,
				fmt.Sprintf(
					"reset %s %s #%d",
					nameOf(ev.Agent),
					ev.Cause,
					keyed(ev.Key),
				),
			)
		}
	}
	for _, r := range s.news.Renamed {
		out = append(out, nameOf(r.From)+" is "+nameOf(r.To))
	}
	return strings.Join(out, ", ")
}

// asks returns the hook of an open dialog.
func asks(at float64, n int, message string) step {
	return hooked(at, n, hook.Payload{
		Event:            hook.Notification,
		NotificationType: "permission_prompt",
		Message:          message,
	}, from("em", 7))
}

// says sets the client's registry for session n.
func says(at float64, n int, status, waiting string) step {
	return func(s *scenario) {
		s.news.add(s.f.Clients([]Client{{
			PID:       7,
			ProcStart: "700",
			SessionID: uuid(n),
			Status:    status,
			Waiting:   waiting,
			Updated:   second(at),
		}}))
	}
}

// turn returns a prompt after a parent, its reply with this number of tokens, and its end: p,
// r and e with the number.
func turn(at float64, n int, parent string, tokens int) []string {
	p := fmt.Sprint("p", n)
	r := fmt.Sprint("r", n)
	behind := func(parent, line string) string {
		if parent == "" {
			return line
		}
		return fmt.Sprintf(`{"parentUuid":%q,`, parent) + line[1:]
	}
	return []string{
		behind(parent, prompt(stampOf(at), p)),
		behind(p, replyAs(stampOf(at+1), "m-"+r, r, tokens, 10)),
		behind(
			r,
			fmt.Sprintf(
				`{"type":"system","subtype":"turn_duration","uuid":"e%d","timestamp":%q}`,
				n,
				stampOf(at+2),
			),
		),
	}
}

// secondOf returns a stamp in seconds from the start of the scenario, "" for none.
func secondOf(at transcript.Instant) string {
	if at == 0 {
		return ""
	}
	return fmt.Sprint(at.Time().Sub(created).Seconds())
}

const (
	prompted = hook.UserPromptSubmit
	used     = hook.PostToolUse
	stopped  = hook.Stop
	left     = hook.SessionEnd
)
