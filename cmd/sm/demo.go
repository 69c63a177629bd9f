package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"sm/observer"
	"sm/transcript/follow"
	"sm/transcript/hook"
)

const (
	// demoSeed decides what happens in a demo: the same each time. With this one somebody compacts after five seconds.
	demoSeed = 9
	// demoPast is how much has happened when a demo begins.
	demoPast = 15 * time.Minute
)

// demoNotice heads what is shown of a demo.
const demoNotice = "demo: all of these agents are made up"

// demoHelp is what the help of observe says of --demo.
const demoHelp = "\n\nWith --demo it watches made-up agents instead, in a temporary directory that is removed at the end. Nothing of this\n" +
	"user's is read, no state is kept, nobody is typed at or notified, and hooks of real agents are neither taken nor\n" +
	"answered. It uses the usual socket, unless another observer answers there: then one of its own, and free ports."

// demo watches made-up agents until ctx ends.
func (env *environ) demo(ctx context.Context, flags *pflag.FlagSet, cfg *config, dryRun bool) (err error) {
	for _, name := range []string{"projects", "state"} {
		if flags.Changed(name) {
			return usagef("--demo has folders of its own; leave out --%s", name)
		}
	}
	dir, err := os.MkdirTemp("", "sm-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w; set TMPDIR to one that can be written", err)
	}
	defer func() {
		if e := os.RemoveAll(dir); e != nil {
			err = errors.Join(err, fmt.Errorf("remove the demo's folder: %w; remove it by hand", e))
		}
	}()
	o, err := env.demoOptions(ctx, flags, cfg, dir)
	if err != nil {
		return err
	}
	o.DryRun = dryRun
	made := missingDirs(filepath.Dir(o.Socket))
	defer func() {
		for _, d := range made {
			_ = os.Remove(d) // one that is in use by now is not empty, and stays
		}
	}()
	o.Logger.Warn("this is a demo: all agents are made up", "dir", dir, "socket", o.Socket)
	return env.runDemo(ctx, o)
}

// runDemo runs the observer and the agents beside it.
func (env *environ) runDemo(ctx context.Context, o observer.Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	player := newDemoPlayer(demoSeed, time.Now().Add(-demoPast), o.Projects[0], o.Logger)
	// So that all that has happened can appear at once.
	staging := filepath.Join(filepath.Dir(o.Projects[0]), "past")
	var failed error
	var playing sync.WaitGroup
	end := func() {}
	err := observer.Run(ctx, o, func(a *observer.App) {
		end = env.greet(a, o)
		playing.Go(func() {
			if failed = player.play(ctx, a, staging); failed != nil {
				cancel(failed)
			}
		})
	})
	cancel(nil)
	playing.Wait()
	end()
	return errors.Join(err, failed)
}

// demoOptions are the observer's: as configured, but for whatever belongs to real agents.
func (env *environ) demoOptions(ctx context.Context, flags *pflag.FlagSet, cfg *config, dir string) (o observer.Options, err error) {
	socket := cfg.Socket
	if socket == "" {
		if socket, err = serverSocket(cfg, env); err != nil || env.held(ctx, cfg) {
			socket = filepath.Join(dir, socketName)
			if !flags.Changed("listen") {
				cfg.Listen = []string{"127.0.0.1:0"}
			}
		}
	}
	cfg.Projects, cfg.State, cfg.Socket = []string{filepath.Join(dir, "projects")}, filepath.Join(dir, "state"), socket
	cfg.Handoff, cfg.Channels, cfg.Operator = defaultConfig().Handoff, nil, operatorConfig{}
	if err := os.Mkdir(cfg.Projects[0], 0o700); err != nil {
		return o, fmt.Errorf("make the demo's projects: %w; see TMPDIR", err)
	}
	if o, err = env.observerOptions(cfg); err != nil {
		return o, err
	}
	o.Demo, o.Terminal, o.Ancestry = true, nil, nil
	o.Alive = func(int, string) bool { return false }
	o.Stats = &follow.Stats{}
	return o, nil
}

// held says whether an observer answers on one of the sockets at which clients look.
func (env *environ) held(ctx context.Context, cfg *config) bool {
	paths, err := socketPaths(cfg, env)
	if err != nil {
		return true // there is no such place: a socket of our own it is
	}
	dialer := net.Dialer{Timeout: time.Second}
	for _, path := range paths {
		conn, err := dialer.DialContext(ctx, "unix", path)
		if err == nil {
			conn.Close()
			return true
		}
	}
	return false
}

// missingDirs lists a folder and those above it that do not exist, the deepest first.
func missingDirs(dir string) (missing []string) {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing, dir = append(missing, dir), filepath.Dir(dir)
	}
}

// demoClient is how the player's agents speak to the observer: as the hooks of real ones would.
type demoClient interface {
	Hook(ctx context.Context, p *hook.Payload) (hook.Answer, error)
}

// demoPlayer acts a script out: it writes the transcripts and calls the hooks.
type demoPlayer struct {
	fleet   *demoFleet
	scribes []*demoScribe
	dir     string // of the transcripts
	log     *slog.Logger
	// parents is when agents begin to name their parent: what happened before is nothing to tell it.
	parents time.Time
}

func newDemoPlayer(seed uint64, start time.Time, projects string, log *slog.Logger) *demoPlayer {
	p := &demoPlayer{fleet: newDemoFleet(seed, start), dir: filepath.Join(projects, "-demo"), log: log}
	for i, s := range p.fleet.seats {
		p.scribes = append(p.scribes, newDemoScribe(seed, i, s.demoTemper))
	}
	return p
}

// play acts until ctx ends: what has happened already at once, all else in its time. The error says that a transcript
// could not be written.
func (p *demoPlayer) play(ctx context.Context, a *observer.App, staging string) error {
	select {
	case <-a.Ready():
	case <-ctx.Done():
		return nil
	}
	now := time.Now()
	p.parents = now.Add(demoSettle)
	if err := p.past(ctx, a, now, staging); err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			if !p.fleet.peek().After(time.Now()) {
				if err := p.act(ctx, a, p.fleet.next()); err != nil {
					return err
				}
			}
			timer.Reset(time.Until(p.fleet.peek()))
		case <-ctx.Done():
			return nil
		}
	}
}

// demoSettle is how long the observer may take to read what happened before the demo.
const demoSettle = 2 * time.Second

// past writes what happened before now into a folder, which then becomes that of the transcripts: an observer that saw
// it grow would take agents that rest for ones at work. Who sits where is said before, or agents would be called by
// their sessions; all other hooks would speak of what is over.
func (p *demoPlayer) past(ctx context.Context, a demoClient, now time.Time, staging string) error {
	dir := p.dir
	p.dir = staging
	for _, s := range p.fleet.seats {
		p.call(ctx, a, demoEvent{At: now.Add(-demoPast), Seat: s.index, Session: s.session}, hook.Payload{Event: hook.SessionStart, Source: "startup"})
	}
	last := map[string]time.Time{} // of each file
	for p.fleet.peek().Before(now) {
		e := p.fleet.next()
		if e.Kind == demoClear {
			p.call(ctx, a, e, hook.Payload{Event: hook.SessionStart, Source: "clear"})
		}
		subagent, lines := p.scribes[e.Seat].lines(e)
		if err := p.write(e.Session, subagent, lines); err != nil {
			return err
		}
		if len(lines) > 0 {
			last[p.path(e.Session, subagent)] = e.At
		}
	}
	for path, at := range last {
		if err := os.Chtimes(path, at, at); err != nil {
			return fmt.Errorf("write the demo's transcripts: %w", err)
		}
	}
	p.dir = dir
	if err := os.Rename(staging, dir); err != nil {
		return fmt.Errorf("write the demo's transcripts: %w", err)
	}
	return nil
}

// act lets one thing happen. An agent notes in its transcript what its hook was told, as the client does.
func (p *demoPlayer) act(ctx context.Context, a demoClient, e demoEvent) error {
	if e.Kind == demoClear {
		p.call(ctx, a, demoEvent{At: e.At, Seat: e.Seat, Session: e.Before}, hook.Payload{Event: hook.SessionEnd, Reason: "clear"})
		p.call(ctx, a, e, hook.Payload{Event: hook.SessionStart, Source: "clear"})
	}
	scribe := p.scribes[e.Seat]
	subagent, lines := scribe.lines(e)
	if err := p.write(e.Session, subagent, lines); err != nil {
		return err
	}
	payload, ok := demoHook(e)
	if !ok {
		return nil
	}
	if told := p.call(ctx, a, e, payload); told != "" {
		return p.write(e.Session, "", scribe.heard(e.At.Add(time.Millisecond), string(payload.Event), told))
	}
	return nil
}

// demoHook is the hook that a client calls after an event.
func demoHook(e demoEvent) (p hook.Payload, ok bool) {
	switch e.Kind {
	case demoPrompt:
		p.Event, p.Prompt = hook.UserPromptSubmit, demoText
	case demoResult:
		p.Event, p.ToolName = hook.PostToolUse, "Bash"
	case demoTurnEnd:
		p.Event = hook.Stop
	case demoCompacting:
		p.Event, p.Trigger = hook.PreCompact, e.Trigger
	case demoCompacted:
		p.Event, p.Source = hook.SessionStart, "compact"
	}
	return p, p.Event != ""
}

// call calls a hook of an event's agent and returns what it is told. That nothing comes of one is no failure: the
// transcripts tell what happened.
func (p *demoPlayer) call(ctx context.Context, a demoClient, e demoEvent, payload hook.Payload) (told string) {
	temper := p.fleet.seats[e.Seat].demoTemper
	payload.SessionID, payload.CWD, payload.TranscriptPath = e.Session, demoFolder, p.path(e.Session, "")
	payload.SM = hook.Origin{Agent: temper.name, Name: temper.name, Provider: "claude", At: e.At}
	if lead := p.fleet.seats[0].name; lead != temper.name && e.At.After(p.parents) {
		payload.SM.Parent = lead
	}
	answer, err := a.Hook(ctx, &payload)
	if err != nil && ctx.Err() == nil {
		p.log.Debug("a hook of the demo", "event", payload.Event, "agent", temper.name, "err", err)
	}
	return answer.Context
}

func (p *demoPlayer) path(session, subagent string) string {
	if subagent != "" {
		return filepath.Join(p.dir, session, "subagents", "agent-"+subagent+".jsonl")
	}
	return filepath.Join(p.dir, session+".jsonl")
}

func (p *demoPlayer) write(session, subagent string, lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	path := p.path(session, subagent)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	if err == nil {
		_, err = f.Write(lines)
		err = cmp.Or(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("write the demo's transcripts: %w; make room, or set TMPDIR", err)
	}
	return nil
}
