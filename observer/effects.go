package observer

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"sm/alerts"
)

// effect is something to be done in the world, once all that led to it is stored.
type effect interface{ do(p *performer) }

// performer does effects beside the loop, in their order.
type performer struct {
	log    *slog.Logger
	levels string // the folder of level files
	app    *App
	ctx    context.Context // ends with the observer
	typing sync.WaitGroup  // typings and notifications that are under way

	notifying sync.Mutex

	mu      sync.Mutex
	waiting []effect
	news    chan struct{}
	ended   chan struct{}
}

// startEffects begins to do effects; end waits for the last.
func (a *App) startEffects(ctx context.Context) *performer {
	p := &performer{
		log: a.log, levels: filepath.Join(a.o.State, "context-status"), app: a, ctx: ctx,
		news: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	go p.run()
	return p
}

// do takes effects over and never blocks.
func (p *performer) do(list []effect) {
	if len(list) == 0 {
		return
	}
	p.mu.Lock()
	p.waiting = append(p.waiting, list...)
	p.mu.Unlock()
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// end does what is left and ends the performer.
func (p *performer) end() {
	close(p.news)
	<-p.ended
}

func (p *performer) run() {
	defer close(p.ended)
	defer p.typing.Wait()
	for more := true; more; {
		_, more = <-p.news
		p.mu.Lock()
		list := p.waiting
		p.waiting = nil
		p.mu.Unlock()
		for _, e := range newest(list) {
			e.do(p)
		}
	}
}

// newest leaves out levels that are out of date by now.
func newest(list []effect) []effect {
	last := map[string]int{}
	for i, e := range list {
		if l, ok := e.(levelEffect); ok {
			last[l.agent] = i
		}
	}
	kept := list[:0]
	for i, e := range list {
		if l, ok := e.(levelEffect); !ok || last[l.agent] == i {
			kept = append(kept, e)
		}
	}
	return kept
}

// levelEffect writes an agent's level file, for scripts; without a line it removes it.
type levelEffect struct {
	agent, line string
}

func levelOf(s alerts.SetLevel) levelEffect {
	line := s.Level.String() + "::"
	if s.Known {
		line = fmt.Sprintf("%s:%d:%d", s.Level, s.Percent, s.Tokens)
	}
	return levelEffect{string(s.Agent), line}
}

// levels writes all level files anew: they are no more than a picture of the state.
func (c *core) levels() {
	known := clearEffect{}
	for _, a := range c.engine.Agents() {
		known[levelName(string(a.Agent))] = true
		c.level(a.Agent)
	}
	c.effects = append(c.effects, known)
}

// level writes the level file of an agent anew.
func (c *core) level(agent alerts.AgentID) {
	if v, known := c.engine.Agent(agent); known {
		c.effects = append(c.effects, levelOf(alerts.SetLevel{Agent: v.Agent, Level: v.Level, Percent: v.Percent, Tokens: v.Tokens, Known: v.Known}))
	}
}

// levelNameMost bounds the name of a level file: systems take 255 bytes.
const levelNameMost = 200

// levelName is the name of an agent's level file: it stands in the folder whatever the
// agent is called, never begins with a dot, and is no other agent's.
func levelName(agent string) string {
	name := url.PathEscape(agent)
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	if len(name) > levelNameMost {
		h := fnv.New64a()
		_, _ = io.WriteString(h, agent) // never fails
		name = fmt.Sprintf("%s-%016x", name[:levelNameMost-17], h.Sum64())
	}
	return name
}

// do replaces the file in one step, so that a reader sees the old line or the new one.
// It is not synced: after a crash of the machine it is written anew.
func (l levelEffect) do(p *performer) {
	name := levelName(l.agent)
	path, fresh := filepath.Join(p.levels, name), filepath.Join(p.levels, "."+name)
	if l.line == "" {
		_ = os.Remove(path) // there may be none
		return
	}
	err := os.MkdirAll(p.levels, 0o700)
	if err == nil {
		err = os.WriteFile(fresh, []byte(l.line+"\n"), 0o600)
	}
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		p.log.Warn("cannot write a level file", "agent", l.agent, "err", err)
	}
}

// clearEffect removes all level files but those of these names: the others are of agents
// that are no more.
type clearEffect map[string]bool

func (known clearEffect) do(p *performer) {
	list, _ := os.ReadDir(p.levels) // there may be none
	for _, e := range list {
		if !known[e.Name()] {
			_ = os.Remove(filepath.Join(p.levels, e.Name()))
		}
	}
}

// operatorEffect tells a notice to the operator.
type operatorEffect struct{ key, text string }

// notifyWithin bounds the operator's command, notifyAtEnd what it has once the observer
// ends.
const (
	notifyWithin = 10 * time.Second
	notifyAtEnd  = time.Second
)

// do logs the notice and gives it to the operator's command. Nothing else waits for that.
// A kill in between loses a notice: the operator is told at most once.
func (o operatorEffect) do(p *performer) {
	p.log.Warn("for the operator", "key", o.key, "text", o.text)
	if argv := p.app.settings.Load().Notify; len(argv) > 0 {
		p.typing.Go(func() { o.notify(p, argv) })
	}
}

// notify runs the command by no shell, one at a time. At the end of the observer it has
// little time left.
func (o operatorEffect) notify(p *performer, argv []string) {
	p.notifying.Lock()
	defer p.notifying.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), notifyWithin)
	defer cancel()
	defer context.AfterFunc(p.ctx, func() { time.AfterFunc(notifyAtEnd, cancel) })()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(o.text+"\n"), io.Discard, io.Discard
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		p.log.Warn("operator.notify has failed", "command", argv[0], "err", err)
	}
}
