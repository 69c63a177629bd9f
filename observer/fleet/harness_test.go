package fleet

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/clients/clientstest"
)

// scenario plays the reports of the clients of a machine, each with its own time, and keeps
// the fleet's results. Sessions have numbers, see uuid.
type scenario struct {
	t     *testing.T
	f     *Fleet
	dead  map[int]bool // processes that have ended
	disk  *store
	files map[string]*testFile // by session's number or path
	found []*testFile          // see TestScenarios
	news  Update
}

func (n *Update) add(m Update) {
	n.Events = append(n.Events, m.Events...)
	n.Received = append(n.Received, m.Received...)
	n.Renamed = append(n.Renamed, m.Renamed...)
}

// step is one report or event.
type step func(*scenario)

func newScenario(t *testing.T) *scenario {
	s := &scenario{
		t:     t,
		dead:  map[int]bool{},
		files: map[string]*testFile{},
		disk:  newStore(),
	}
	s.start(Stored{Created: created})
	s.f.Settle(created)
	return s
}

// start makes the fleet from the stored state.
func (s *scenario) start(stored Stored) {
	alive := func(pid int, _ string) bool { return !s.dead[pid] }
	s.f = New(Options{
		Clients:    clientstest.Table(),
		Ledger:     s.disk,
		Thresholds: alerts.Defaults().Thresholds,
		Alive:      alive,
		Estimate:   true,
		Prices:     transcript.Prices{{Model: "claude-opus", Output: 1e6 / 64}},
	}, stored)
}

func (s *scenario) play(steps ...step) *scenario {
	for _, do := range steps {
		do(s)
	}
	return s
}

// second returns the time at seconds after created.
func second(at float64) time.Time { return created.Add(time.Duration(at * float64(time.Second))) }

func stampOf(at float64) string { return second(at).Format("2006-01-02T15:04:05.000Z") }

// afterwards is when all signals arrive, long after their times.
var afterwards = transcript.InstantOf(created.Add(11 * time.Hour))

// from returns the origin of a client's signals.
func from(agent string, pid int) hook.Origin {
	return hook.Origin{Agent: agent, PID: pid, Start: strconv.Itoa(100 * pid)}
}

// inPane returns the origin of signals of a client in a pane without another name.
func inPane(pane string, server, pid int) hook.Origin {
	o := from(hook.TmuxAgent("/tmp/tmux-1/default", server, pane), pid)
	o.Tmux = "/tmp/tmux-1/default"
	o.Server = server
	o.Pane = pane
	return o
}

// fires returns a hook of session n.
func fires(at float64, n int, event hook.Event, o hook.Origin) step {
	return hooked(at, n, hook.Payload{Event: event}, o)
}

// starts returns its hook SessionStart.
func starts(at float64, n int, source string, o hook.Origin) step {
	return hooked(at, n, hook.Payload{Event: hook.SessionStart, Source: source}, o)
}

func hooked(at float64, n int, p hook.Payload, o hook.Origin) step {
	return func(s *scenario) {
		p.SessionID = uuid(n)
		p.SM = o
		p.SM.At = second(at)
		news, _ := s.f.Hook(&p, afterwards)
		s.news.add(news)
	}
}

// shows returns a report of session n's status line, with this number of tokens of a window
// of 200,000.
func shows(at float64, n int, tokens int64, o hook.Origin) step {
	return reports(at, n, status(tokens, 200_000), o)
}

func reports(at float64, n int, st hook.Status, o hook.Origin) step {
	return func(s *scenario) {
		st.SessionID = uuid(n)
		st.SM = o
		st.SM.At = second(at)
		s.news.add(s.f.Status(&st, afterwards))
	}
}

// status returns what the client pipes into its status line: null before the first reply.
func status(tokens, window int64) hook.Status {
	st := hook.Status{Version: "2.1.197", Model: "claude-haiku-4-5"}
	st.Window.Size = hook.Figure[int64]{Value: window, Known: true}
	st.Window.Usage = hook.Figure[hook.Usage]{Null: true}
	st.Window.UsedPercentage = hook.Figure[float64]{Null: true}
	if tokens > 0 {
		st.Window.Usage = hook.Figure[hook.Usage]{
			Value: hook.Usage{Input: 2, CacheRead: tokens - 2},
			Known: true,
		}
		st.Window.UsedPercentage = hook.Figure[float64]{
			Value: float64(transcript.Window{Tokens: window}.Percent(tokens)),
			Known: true,
		}
	}
	return st
}

// holds sets the registry: process and session in turn.
func holds(at float64, pidsAndSessions ...int) step {
	return func(s *scenario) {
		var cs []Client
		for i := 0; i < len(pidsAndSessions); i += 2 {
			pid := pidsAndSessions[i]
			cs = append(cs, Client{
				PID:       pid,
				ProcStart: strconv.Itoa(100 * pid),
				SessionID: uuid(pidsAndSessions[i+1]),
				Updated:   second(at),
			})
		}
		s.news.add(s.f.Clients(cs))
	}
}

// writes appends to the transcript of session n, which is read at once.
func writes(n int, lines ...string) step {
	return func(s *scenario) { s.write(strconv.Itoa(n), lines...) }
}

func (s *scenario) write(key string, lines ...string) {
	p, known := s.files[key]
	if !known {
		p = newTestFile(pathOf(key))
		s.files[key] = p
	}
	if p.add(lines...); known {
		s.news.add(s.f.Apply(p.grown()))
	} else {
		s.news.add(s.f.Apply(p.met()))
	}
}

// answers adds a reply in session n with this number of tokens in context.
func answers(at float64, n, tokens int) step {
	return writes(n, reply(stampOf(at), fmt.Sprintf("m%d-%v", n, at), tokens, 10))
}

// continues ends session n, which continues as another one.
func continues(at float64, n, as int) step {
	return writes(
		n,
		fmt.Sprintf(
			`{"type":"continued-in","timestamp":%q,"sessionId":%q,"continuedInSessionId":%q}`,
			stampOf(at),
			uuid(n),
			uuid(as),
		),
	)
}

func ends(pid int) step { return func(s *scenario) { s.dead[pid] = true } }

func registers(at float64, r Registration) step {
	return func(s *scenario) {
		news, err := s.f.Register(r, transcript.InstantOf(second(at)))
		noErrors(s.t, err)
		s.news.add(news)
	}
}

// restarts continues from the stored state.
func restarts(s *scenario) {
	if d, ok := s.f.Take(); ok {
		s.disk.put(d)
	}
	s.start(s.disk.stored(s.t))
}

// number returns the number of a session's id, 0 for none.
func number(id string) int { return sessionNumbers()[id] }

func keyed(k transcript.Key) int {
	for id, n := range sessionNumbers() {
		if transcript.KeyOf([]byte(id)) == k {
			return n
		}
	}
	return 0
}

// sessionNumbers returns the numbers of the sessions of a scenario, by id.
var sessionNumbers = sync.OnceValue(func() map[string]int {
	m := map[string]int{}
	for n := 1; n < 1000; n++ {
		m[uuid(n)] = n
	}
	return m
})

func nameOf(id string) string {
	if n := number(id); n > 0 {
		return "#" + strconv.Itoa(n)
	}
	return id
}
