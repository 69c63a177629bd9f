package demo

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sm/transcript/claude/hook"
)

// An Observer is what the player needs of one: the hooks and status lines of
// the agents, and when it can take them.
type Observer interface {
	// Ready is closed once hooks are taken.
	Ready() <-chan struct{}
	Hook(ctx context.Context, p *hook.Payload) (hook.Answer, error)
	Status(ctx context.Context, s *hook.Status) error
}

// A Player acts a script out: it writes the transcripts and calls the hooks.
type Player struct {
	observer Observer
	script   script
	dir      string // of the transcripts
	past     bool   // what happens was before now
	log      *slog.Logger
	// parents is when agents begin to name their parent, which gets no notices
	// of earlier events.
	parents time.Time
	// bills is what the sessions have cost since the demo began, in US dollars,
	// limits how the account's limits are used.
	bills  map[string]float64
	limits hook.RateLimits
}

// New returns a player whose script begins at start. Its transcripts go into a
// folder below projects.
func New(seed uint64, start time.Time, projects string, log *slog.Logger) *Player {
	p := &Player{
		script: newScript(seed, start),
		dir:    filepath.Join(projects, "-demo"),
		log:    log,
		bills:  map[string]float64{},
	}
	p.limits.FiveHour = limit(38, start.Add(Past+160*time.Minute))
	p.limits.SevenDay = limit(61, start.Add(Past+77*time.Hour))
	return p
}

// Play runs until ctx ends: past events at once, later ones in their time. The past
// transcripts are first written to the folder staging, which is on the same file
// system and does not exist yet. The error means that a transcript could not be
// written.
func (p *Player) Play(ctx context.Context, a Observer, staging string) error {
	p.observer = a
	select {
	case <-a.Ready():
	case <-ctx.Done():
		return nil
	}
	now := time.Now()
	p.parents = now.Add(settleTime)
	err := p.writeHistory(ctx, now, staging)
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

// settleTime is how long the observer may take to read what happened before the demo.
const settleTime = 2 * time.Second

// writeHistory writes what happened before now into a folder, which then
// becomes that of the transcripts: an observer that saw it grow would take
// agents that rest for ones at work. Agents are named before, or they would be
// called by their sessions; all other hooks would be about the past.
func (p *Player) writeHistory(ctx context.Context, now time.Time, staging string) error {
	dir := p.dir
	p.dir = staging
	p.past = true
	for _, s := range p.script {
		e := event{At: now.Add(-Past), Agent: s.index, Session: s.session}
		p.call(ctx, e, hook.Payload{Event: hook.SessionStart, Source: "startup"})
	}
	asks := map[int]event{} // dialogs that are open, by agent
	for p.script.peek().Before(now) {
		e := p.script.next()
		if delete(asks, e.Agent); e.Kind == kindAsk {
			asks[e.Agent] = e
		}
		if err := p.act(ctx, e); err != nil {
			return err
		}
	}
	p.dir = dir
	p.past = false
	err := os.Rename(staging, dir)
	for _, e := range asks {
		p.call(ctx, e, hookOf(e))
	}
	return err
}

// act carries out one event. An agent writes the answer to its hook into its
// transcript, as the client does. In the past only sessions begin by hooks.
func (p *Player) act(ctx context.Context, e event) error {
	if e.Kind == kindClear {
		if !p.past {
			before := e
			before.Session = e.Before
			p.call(ctx, before, hook.Payload{Event: hook.SessionEnd, Reason: "clear"})
		}
		p.call(ctx, e, hook.Payload{Event: hook.SessionStart, Source: "clear"})
	}
	scribe := p.script[e.Agent].scribe
	subagent, lines := scribe.lines(e)
	if err := p.write(e, subagent, lines); err != nil || p.past {
		return err
	}
	if e.Kind == kindReply || e.Kind == kindSubagent {
		p.report(ctx, e)
	}
	payload := hookOf(e)
	if payload.Event == "" {
		return nil
	}
	answer := p.call(ctx, e, payload)
	if answer == "" {
		return nil
	}
	return p.write(e, "", scribe.heard(e, string(payload.Event), answer))
}

// hookOf is the hook that a client calls after an event, without an event for none.
func hookOf(e event) hook.Payload {
	return map[kind]hook.Payload{
		kindPrompt:     {Event: hook.UserPromptSubmit, Prompt: madeUpText},
		kindToolResult: {Event: hook.PostToolUse, ToolName: "Bash"},
		kindTurnEnd:    {Event: hook.Stop},
		kindCompacting: {Event: hook.PreCompact, Trigger: e.Trigger},
		kindCompacted:  {Event: hook.SessionStart, Source: "compact"},
		kindAsk: {
			Event:            hook.Notification,
			NotificationType: "permission_prompt",
			Message:          "Claude needs your permission to use Bash",
		},
	}[e.Kind]
}

// call calls a hook of an event's agent and returns the answer, which may be empty.
func (p *Player) call(ctx context.Context, e event, payload hook.Payload) (heard string) {
	payload.SessionID = e.Session
	payload.CWD = folder
	payload.TranscriptPath = p.path(e.Session, "")
	payload.SM = p.origin(e)
	if lead := p.script[0].Name; lead != payload.SM.Agent && e.At.After(p.parents) {
		payload.SM.Parent = lead
	}
	answer, err := p.observer.Hook(ctx, &payload)
	if err != nil && ctx.Err() == nil {
		p.log.Debug(
			"a hook of the demo",
			"event", payload.Event,
			"agent", payload.SM.Agent,
			"err", err,
		)
	}
	return answer.Context
}

func (p *Player) origin(e event) hook.Origin {
	name := p.script[e.Agent].Name
	return hook.Origin{
		Agent:    name,
		Name:     name,
		Provider: "claude",
		At:       e.At,
	}
}

func known[T comparable](v T) hook.Figure[T] { return hook.Figure[T]{Value: v, Known: true} }

func limit(percent float64, resets time.Time) hook.RateLimit {
	return hook.RateLimit{UsedPercentage: known(percent), ResetsAt: known(resets.Unix())}
}

// report is the cost and the limits in the status line of an event's agent.
// The prices are made up, as all else.
func (p *Player) report(ctx context.Context, e event) {
	usd := (float64(e.Context)*0.3 + float64(e.Output)*15) / 1e6
	p.bills[e.Session] += usd
	for limit, share := range map[*hook.RateLimit]float64{
		&p.limits.FiveHour: 40,
		&p.limits.SevenDay: 900,
	} {
		limit.UsedPercentage.Value = min(97, limit.UsedPercentage.Value+usd/share)
	}
	model := p.script[e.Agent].Model
	status := hook.Status{
		SessionID:      e.Session,
		TranscriptPath: p.path(e.Session, ""),
		CWD:            folder,
		Version:        clientVersion,
		Model:          model,
		Cost:           hook.Cost{TotalUSD: known(p.bills[e.Session])},
		RateLimits:     p.limits,
		SM:             p.origin(e),
	}
	if e.Kind == kindReply {
		size := window(model)
		status.Window = hook.Window{
			Size:           known(size),
			Usage:          known(hook.Usage{Output: e.Output, CacheRead: e.Context}),
			UsedPercentage: known(min(100, math.Round(100*float64(e.Context)/float64(size)))),
		}
	}
	if err := p.observer.Status(ctx, &status); err != nil && ctx.Err() == nil {
		p.log.Debug("a status line of the demo", "agent", status.SM.Agent, "err", err)
	}
}

func (p *Player) path(session, subagent string) string {
	if subagent != "" {
		return filepath.Join(p.dir, session, "subagents", "agent-"+subagent+".jsonl")
	}
	return filepath.Join(p.dir, session+".jsonl")
}

func (p *Player) write(e event, subagent string, lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	path := p.path(e.Session, subagent)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	err = cmp.Or(err, f.Close())
	if p.past {
		err = cmp.Or(err, os.Chtimes(path, e.At, e.At))
	}
	if err != nil || subagent == "" {
		return err
	}
	meta := strings.TrimSuffix(path, ".jsonl") + ".meta.json"
	return os.WriteFile(meta, []byte(`{"agentType":"general-purpose"}`), 0o600)
}
