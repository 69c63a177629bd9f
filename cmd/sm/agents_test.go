package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// agents writes transcripts as clients do: several sessions at once, lines whole
// and in halves, messages of several lines, compactions in each shape, subagents,
// forks that copy history, new sessions. All is stamped with the time at which it
// is written.
type agents struct {
	t        *testing.T
	projects string
	rand     *rand.Rand
	sessions []*agent
	files    []string
	born     map[string]string // by the uuid of a compaction: the session in which it happened
	past     time.Duration     // how long ago all is said to happen
	named    map[string]bool   // forks, by id: whether their records name their origin
	n        int
	writes   int
	forks    int
	end      sync.WaitGroup
	stop     context.CancelFunc
}

// agent is one session that is being written.
type agent struct {
	id, path string
	context  int
	lines    [][]byte // what is in its file, whole lines
	waiting  [][]byte // what its client writes next
	half     []byte   // the rest of a line whose beginning has been written
	subs     int
}

func newAgents(t *testing.T, projects string, seed uint64) *agents {
	return &agents{
		t:        t,
		projects: projects,
		rand:     rand.New(rand.NewPCG(seed, 1)),
		born:     map[string]string{},
		named:    map[string]bool{},
	}
}

// run writes until finish is called, a few hundred times a second.
func (a *agents) run() {
	ctx, cancel := context.WithCancel(a.t.Context())
	a.stop = cancel
	for range 2 { // beside those of yesterday
		a.begin()
	}
	a.end.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				a.step(a.sessions[a.rand.IntN(len(a.sessions))])
			}
		}
	})
}

// finish ends the writing, and completes what is half written.
func (a *agents) finish() {
	a.stop()
	a.end.Wait()
	for _, s := range a.sessions {
		a.complete(s)
	}
}

func (a *agents) complete(s *agent) {
	for len(s.half)+len(s.waiting) > 0 {
		a.write(s)
	}
}

func (a *agents) uuid() string {
	return fmt.Sprintf(
		"%08x-%04x-4%03x-8%03x-%012x",
		a.rand.Uint32(),
		a.rand.IntN(1<<16),
		a.rand.IntN(1<<12),
		a.rand.IntN(1<<12),
		a.rand.Uint64()>>16,
	)
}

func (a *agents) now() string {
	return time.Now().Add(-a.past).UTC().Format("2006-01-02T15:04:05.000Z")
}

// history writes what happened yesterday.
func (a *agents) history(steps int) {
	a.past = 24 * time.Hour
	for range 8 {
		a.begin()
	}
	for range steps {
		a.step(a.sessions[a.rand.IntN(len(a.sessions))])
	}
	for _, s := range a.sessions {
		a.complete(s)
	}
	a.past = 0
}

// begin adds a session, in the place of the oldest when there are many.
func (a *agents) begin() *agent {
	s := &agent{id: a.uuid(), context: 20000}
	s.path = filepath.Join(a.projects, fmt.Sprintf("-home-dev-p%d", a.rand.IntN(3)), s.id+".jsonl")
	a.files = append(a.files, s.path)
	if len(a.sessions) >= 10 {
		a.complete(a.sessions[0])
		a.sessions = a.sessions[1:]
	}
	a.sessions = append(a.sessions, s)
	return s
}

// step lets one client do the next thing.
func (a *agents) step(s *agent) {
	if len(s.half)+len(s.waiting) > 0 {
		a.write(s)
		return
	}
	switch k := a.rand.IntN(100); {
	case k < 20:
		a.say(s, `"type":"user","uuid":"%s","message":{"role":"user","content":"do \"this\" é %d"}`, a.uuid(), a.n)
	case k < 60:
		a.reply(s, false, s)
	case k < 66:
		a.compact(s)
	case k < 68:
		a.summaryAlone(s)
	case k < 76:
		a.subagent(s)
	case k < 78:
		s.waiting = append(s.waiting, []byte("{\"type\":\"assist\n"), []byte("\n"))
	case k == 78 && len(a.files) < 400:
		a.begin()
	case k == 79 && len(a.files) < 400 && len(s.lines) < 300:
		a.fork(s)
	default:
		a.say(s, `"type":"system","subtype":"turn_duration","uuid":"%s","durationMs":5`, a.uuid())
	}
}

func (a *agents) say(s *agent, format string, args ...any) {
	a.n++
	line := fmt.Sprintf(
		`{"sessionId":"%s","version":"2.1.197","cwd":"/home/dev/p","timestamp":"%s",`+format+"}\n",
		append([]any{s.id, a.now()}, args...)...,
	)
	s.waiting = append(s.waiting, []byte(line))
}

// reply is an API message of one to three lines, written one by one.
func (a *agents) reply(s *agent, side bool, to *agent) {
	to.context += 50 + a.rand.IntN(2000)
	id := "msg_" + a.uuid()
	for part := range 1 + a.rand.IntN(3) {
		a.say(to, `"type":"assistant","uuid":"%s","isSidechain":%v,"message":{"id":"%s","model":"claude-sonnet-4-5","usage":{"input_tokens":3,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d},"content":[{"type":"text","text":"%s"}]}`,
			a.uuid(), side, id, to.context%1000, to.context, 1+part*part*7, strings.Repeat("word ", a.rand.IntN(60)))
	}
}

func (a *agents) compact(s *agent) {
	boundary := a.uuid()
	a.born[boundary] = s.id
	trigger := []string{"auto", "manual"}[a.rand.IntN(2)]
	a.say(
		s,
		`"type":"system","subtype":"compact_boundary","uuid":"%s","compactMetadata":{"trigger":"%s","preTokens":%d}`,
		boundary,
		trigger,
		100_000+a.n,
	) // two of one moment are not to look alike
	a.say(
		s,
		`"type":"user","isCompactSummary":true,"uuid":"%s","parentUuid":"%s","message":{"role":"user","content":"%s"}`,
		a.uuid(),
		boundary,
		a.summary(),
	)
	s.context = 20000
}

// summaryAlone is a compaction of clients that write no boundary.
func (a *agents) summaryAlone(s *agent) {
	id := a.uuid()
	a.born[id] = s.id
	a.say(
		s,
		`"type":"user","isCompactSummary":true,"uuid":"%s","message":{"role":"user","content":"%s"}`,
		id,
		a.summary(),
	)
	s.context = 20000
}

func (a *agents) summary() string {
	a.n++
	return fmt.Sprintf("This session is being continued, for the %d time. ", a.n) + strings.Repeat("It went so. ", 20)
}

// subagent writes a whole message into a subagent's file, a new one or the last.
func (a *agents) subagent(s *agent) {
	if s.subs == 0 || a.rand.IntN(3) == 0 {
		s.subs++
	}
	sub := &agent{
		id:      s.id,
		context: 5000,
		path: filepath.Join(
			strings.TrimSuffix(s.path, ".jsonl"),
			"subagents",
			fmt.Sprintf("agent-%d.jsonl", s.subs),
		),
	}
	a.reply(s, true, sub)
	for len(sub.waiting) > 0 {
		a.append(sub.path, sub.waiting[0])
		sub.waiting = sub.waiting[1:]
	}
}

// fork copies a session between two messages: uuids kept, the session's id its own,
// and every other time with the name of its origin.
func (a *agents) fork(s *agent) {
	text := bytes.Join(s.lines, nil)
	f := a.begin()
	a.forks++
	f.context = s.context
	text = bytes.ReplaceAll(text, []byte(`"sessionId":"`+s.id), []byte(`"sessionId":"`+f.id))
	named := a.rand.IntN(2) == 0
	a.named[f.id] = named
	for line := range bytes.Lines(text) {
		if _, rest, ok := bytes.Cut(line, []byte(`"uuid":"`)); ok && named {
			origin := fmt.Sprintf(`{"forkedFrom":{"sessionId":"%s","messageUuid":"%s"},`, s.id, rest[:36])
			line = append([]byte(origin), line[1:]...)
		}
		f.lines = append(f.lines, line)
	}
	text = bytes.Join(f.lines, nil)
	cut := a.rand.IntN(len(text) + 1)
	a.append(f.path, text[:cut])
	a.append(f.path, text[cut:])
}

// write appends what comes next: a line, the first half of one, the rest of one, or
// all that is waiting.
func (a *agents) write(s *agent) {
	switch k := a.rand.IntN(10); {
	case len(s.half) > 0:
		a.append(s.path, s.half)
		s.half = nil
	case k < 2:
		line := s.waiting[0]
		s.lines, s.waiting = append(s.lines, line), s.waiting[1:]
		cut := a.rand.IntN(len(line)) // perhaps all but the newline
		if k == 0 {
			cut = len(line) - 1
		}
		a.append(s.path, line[:cut])
		s.half = line[cut:]
	case k < 5:
		a.append(s.path, bytes.Join(s.waiting, nil))
		s.lines = append(s.lines, s.waiting...)
		s.waiting = nil
	default:
		a.append(s.path, s.waiting[0])
		s.lines, s.waiting = append(s.lines, s.waiting[0]), s.waiting[1:]
	}
}

func (a *agents) append(path string, text []byte) {
	a.writes++
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		var file *os.File
		if file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
			_, err = file.Write(text)
			file.Close()
		}
	}
	if err != nil {
		a.t.Error(err)
	}
}
