package demo

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/template"
	"time"

	"sm/observer/api"
	"sm/observer/fleet"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// An Observer has the methods of an observer that agents and their clients
// call.
type Observer interface {
	// Ready returns a channel that is closed once hooks are accepted.
	Ready() <-chan struct{}
	Hook(ctx context.Context, p *hook.Payload) (hook.Answer, error)
	Status(ctx context.Context, s *hook.Status) error
	Handoff(ctx context.Context, agent string, in api.NewHandoff, line []fleet.Process) (string, error)
	NextInstruction(
		ctx context.Context,
		agent string,
		r api.Run,
		line []fleet.Process,
	) (api.Instruction, error)
}

// A Player plays a script: it writes the transcripts and calls the hooks.
type Player struct {
	observer Observer
	script   script
	prices   transcript.Prices
	dir      string
	records  *template.Template
	// past has the transcripts of the events before now; nil once they are
	// written.
	past map[string]*past
	log  *slog.Logger
	// parents is when agents begin to report their parent, which gets no
	// notices of earlier events.
	parents time.Time
	// orders has the instructions for the sm run of an agent that hands over.
	orders chan api.Instruction
}

// past is a transcript from before the demo, with the time of its newest
// record.
type past struct {
	text []byte
	at   time.Time
}

//go:embed records.tmpl
var records string

//go:embed handoff.md
var document []byte

// New returns a player of a demo that begins at the time seen. dir is the
// folder for the agents' projects and the transcripts: see [Dirs].
func New(seen time.Time, dir string, log *slog.Logger) *Player {
	p := &Player{
		script: newScript(seen),
		prices: Load().Prices,
		dir:    dir,
		past:   map[string]*past{},
		log:    log,
		orders: make(chan api.Instruction),
	}
	rng := rand.New(rand.NewPCG(seed, 1<<32))
	p.records = template.Must(template.New("").Funcs(template.FuncMap{
		"uuid": func() string { return newUUID(rng) },
		"json": func(text string) string {
			b, _ := json.Marshal(text) // any string can be encoded
			return string(b)
		},
		"stamp": func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") },
	}).Parse(records))
	return p
}

// Dirs returns the folders of the transcripts of Claude Code and of Codex in a
// demo's folder.
func Dirs(dir string) (claude, codex string) {
	return filepath.Join(dir, "projects"), filepath.Join(dir, "codex", "sessions")
}

// Play plays the script until ctx ends: past events at once, later ones at
// their time. The error means that a transcript could not be written.
func (p *Player) Play(ctx context.Context, a Observer) error {
	p.observer = a
	select {
	case <-a.Ready():
	case <-ctx.Done():
		return nil
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	now := time.Now()
	p.parents = now.Add(settleTime)
	err := p.writeHistory(ctx, now)
	for _, s := range p.script {
		if s.Hands > 0 {
			beside.Go(func() { p.supervise(ctx, s.ID) })
		}
	}
	for err == nil {
		select {
		case <-time.After(time.Until(p.script.peek())):
			err = p.act(ctx, p.script.next())
		case <-ctx.Done():
			return nil
		}
	}
	return fmt.Errorf("write the demo's transcripts: %w; make room, or set TMPDIR", err)
}

// settleTime is how long the observer may take to read the events before the
// demo.
const settleTime = 2 * time.Second

// supervise acts as the sm run of an agent.
func (p *Player) supervise(ctx context.Context, agent string) {
	run := api.Run{RestartsLeft: 10, CanRestart: true}
	for ctx.Err() == nil {
		in, err := p.observer.NextInstruction(ctx, agent, run, nil)
		run.Handled = ""
		orders := p.orders
		if err != nil || in.Rotation == "" {
			orders = nil
		}
		select {
		case orders <- in:
			run.Handled = in.Rotation
			run.Outcome = api.OutcomeRestarted
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// writeHistory writes the events before now, each transcript as a whole: if the
// observer saw a transcript grow, it would count an idle agent as active. It
// calls the hooks at the beginning of sessions, which identify their agents,
// and omits all other hooks of the past.
func (p *Player) writeHistory(ctx context.Context, now time.Time) error {
	for _, s := range p.script {
		if err := os.MkdirAll(p.folder(s), 0o700); err != nil {
			return err
		}
		p.call(ctx, event{
			At:      s.began,
			Kind:    "begin",
			Agent:   s.index,
			Session: s.session,
		})
	}
	latest := map[int]event{}
	replies := map[int]event{}
	for p.script.peek().Before(now) {
		e := p.script.next()
		latest[e.Agent] = e
		if e.Kind == kindReply {
			replies[e.Agent] = e
		}
		if err := p.act(ctx, e); err != nil {
			return err
		}
	}
	staged := p.past
	p.past = nil
	whole := filepath.Join(p.dir, "past")
	for path, x := range staged {
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(whole, x.text, 0o600)
		}
		if err == nil {
			err = os.Chtimes(whole, x.at, x.at)
		}
		if err == nil {
			err = os.Rename(whole, path)
		}
		if err != nil {
			return err
		}
	}
	for i, e := range latest {
		p.report(ctx, replies[i])
		if e.Kind == kindAsk { // the dialog is open
			p.call(ctx, e)
		}
	}
	return nil
}

// act plays one event. The answer to a hook is written to the transcript, as a
// client does. Past events call no hooks.
func (p *Player) act(ctx context.Context, e event) error {
	s := p.script[e.Agent]
	now := p.past == nil
	switch e.Kind {
	case kindHandoff:
		if now {
			return p.handOff(ctx, s)
		}
	case kindRestart, kindClear:
		p.leave(ctx, s, e)
	case kindPrompt:
		e.Text = cmp.Or(s.resume, e.Text)
		s.resume = ""
	case kindReply, kindSubagent:
		usd, _ := p.prices.Cost(s.Model, e.Usage())
		s.Bill += usd
	}
	if err := p.write(e); err != nil || !now || e.Before != "" {
		return err
	}
	p.report(ctx, e)
	if e.Text = p.call(ctx, e); e.Text == "" {
		return nil
	}
	e.At = e.At.Add(time.Millisecond)
	e.Kind = kindAnswer
	return p.write(e)
}

// handOff writes an agent's document and requests the handoff, like sm handoff.
func (p *Player) handOff(ctx context.Context, s *agent) error {
	path := filepath.Join(p.folder(s), "handoff.md")
	err := os.WriteFile(path, document, 0o600)
	if err == nil {
		_, refused := p.observer.Handoff(
			ctx,
			s.ID,
			api.NewHandoff{Requester: s.ID, Path: path},
			nil,
		)
		p.debug(s, refused)
	}
	return err
}

// leave ends a session and begins the next one, after a handoff once the
// observer orders the restart.
func (p *Player) leave(ctx context.Context, s *agent, e event) {
	s.Bill = 0
	if p.past == nil {
		if e.Kind == kindRestart {
			select {
			case in := <-p.orders:
				s.resume = in.Prompt
			case <-time.After(handsWithin):
			case <-ctx.Done():
			}
		}
		left := e
		left.Kind = "left"
		left.Session = e.Before
		p.call(ctx, left)
	}
	p.call(ctx, e)
}

// call calls the hook of an event, if it has one, and returns the answer, which
// may be empty.
func (p *Player) call(ctx context.Context, e event) (text string) {
	payload, _ := hook.Decode(p.render(e, ".hook"))
	if payload.Event == "" {
		return ""
	}
	answer, err := p.observer.Hook(ctx, &payload)
	p.debug(p.script[e.Agent], err)
	return answer.Context
}

// report sends the status line after an event, if the client shows one then.
func (p *Player) report(ctx context.Context, e event) {
	if status, err := hook.DecodeStatus(p.render(e, ".status")); err == nil {
		p.debug(p.script[e.Agent], p.observer.Status(ctx, &status))
	}
}

// debug logs an error of the observer.
func (p *Player) debug(s *agent, err error) {
	if err != nil {
		p.log.Debug("a call of the demo", "agent", s.ID, "err", err)
	}
}

// folder returns the folder of an agent's project.
func (p *Player) folder(s *agent) string { return filepath.Join(p.dir, s.Project) }

// path returns the path of an event's transcript.
func (p *Player) path(e event) string {
	s := p.script[e.Agent]
	claude, codex := Dirs(p.dir)
	if s.Client != "" {
		name := s.began.Format("2006/01/02/rollout-2006-01-02T15-04-05-") + e.Session + ".jsonl"
		return filepath.Join(codex, name)
	}
	dir := filepath.Join(claude, strings.ReplaceAll(p.folder(s), "/", "-"))
	if e.Kind == kindSubagent {
		return filepath.Join(dir, e.Session, "subagents", "agent-"+e.Subagent+".jsonl")
	}
	return filepath.Join(dir, e.Session+".jsonl")
}

// render returns the client's output for an event, nil for none: records, or
// with what ".hook" or ".status".
func (p *Player) render(e event, what string) []byte {
	s := p.script[e.Agent]
	t := p.records.Lookup(cmp.Or(s.Client, "claude") + "/" + string(e.Kind) + what)
	if t == nil {
		return nil
	}
	window, _ := sizes(s.Model)
	parent := ""
	if lead := p.script[0].ID; lead != s.ID && e.At.After(p.parents) {
		parent = lead
	}
	var b bytes.Buffer
	if err := t.Execute(&b, struct {
		event
		*agent
		Dir, Path, Parent string
		PID               int
		Window            int64
	}{e, s, p.folder(s), p.path(e), parent, 1 + s.index, window}); err != nil {
		p.log.Error("a record of the demo", "name", t.Name(), "err", err)
	}
	return b.Bytes()
}

// write appends the records of an event to its transcript.
func (p *Player) write(e event) error {
	text := p.render(e, "")
	if text == nil {
		return nil
	}
	path := p.path(e)
	if p.past != nil {
		x := cmp.Or(p.past[path], &past{})
		x.text = append(x.text, text...)
		x.at = e.At
		p.past[path] = x
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return cmp.Or(err, f.Close())
}
