package rotation

import (
	"cmp"
	"strings"
	"time"

	"sm/transcript/wording"
)

// Options are the settings of [Machine].
type Options struct {
	// BreakerCount and BreakerWithin limit rotations: after BreakerCount
	// rotations of an agent within BreakerWithin the next one is refused. 0
	// turns the breaker off.
	BreakerCount  int
	BreakerWithin time.Duration
	// Resume returns the first prompt of a new context, in a form that can be
	// typed.
	Resume func(path string) string

	// ClearWithin limits the time from /clear to its proof, usually 30 s:
	// clients call their hooks within about 100 ms, and a slow hook of the user
	// delays that by up to 10 s.
	ClearWithin time.Duration
	// PromptWithin limits the time until the transcript shows the prompt,
	// usually 20 s: it takes milliseconds, unless the machine is very slow.
	PromptWithin time.Duration
	// Grace is how long after a restart of the observer no prompt is typed
	// again, usually 10 s: transcripts and the client's registry show the past
	// events within a second or two.
	Grace time.Duration
	// FinishAfter is how long after typing a text, or after the observer's
	// start, the input box is checked for a text without Enter, usually 3 s: a
	// proof takes less time.
	FinishAfter time.Duration
}

// Defaults returns the usual settings.
func Defaults() Options {
	return Options{
		BreakerCount:  3,
		BreakerWithin: 15 * time.Minute,
		Resume:        wording.Resume,
		ClearWithin:   30 * time.Second,
		PromptWithin:  20 * time.Second,
		Grace:         10 * time.Second,
		FinishAfter:   3 * time.Second,
	}
}

const (
	// patience is how long the terminal may refuse a text, for example because
	// of a draft.
	patience = 10 * time.Minute
	// promptTries limits how often an unconfirmed prompt is typed. It is typed
	// again only if the agent has been at an empty prompt all the time.
	promptTries = 3
	// prepareWithin limits reading and copying the document: a network file system may not
	// answer at all.
	prepareWithin = 30 * time.Second
	// restartWithin limits the time for `sm run`, which waits 10 s for the old
	// client to end.
	restartWithin = 90 * time.Second
	// The pauses after refusals double from firstPause to longestPause.
	firstPause, longestPause = 2 * time.Second, 30 * time.Second
	// keptFor is how long an ended rotation is kept.
	keptFor = 24 * time.Hour
)

// Machine runs handoffs, at most one at a time for each agent. It is pure: it
// returns effects and takes their results as inputs. It must not be used by
// several goroutines at once.
type Machine struct {
	options Options
	since   time.Time // time of the Restore, zero for none
	// typing has the start time of typing a text for a rotation. Until the
	// answer arrives, the content of the input box is unknown.
	typing map[string]time.Time
	out    []Effect

	all      map[string]*Rotation
	open     map[string]*Rotation // not ended; at most one for each agent
	agents   map[string]*AgentRecord
	counters Counters

	// The changes that Take has to return.
	taken         map[string]Rotation // as of the last Take
	agentsChanged map[string]bool
	counted       bool
}

// New returns a Machine without rotations.
func New(o Options) *Machine {
	return &Machine{
		options:       o,
		typing:        map[string]time.Time{},
		all:           map[string]*Rotation{},
		open:          map[string]*Rotation{},
		agents:        map[string]*AgentRecord{},
		counters:      Counters{},
		taken:         map[string]Rotation{},
		agentsChanged: map[string]bool{},
	}
}

// Configure changes the settings, also for rotations under way.
func (m *Machine) Configure(o Options) { m.options = o }

// Step applies an input and returns its effects. An input for an unknown
// rotation, or an input that is too late, changes nothing.
func (m *Machine) Step(in Input) []Effect {
	m.out = nil
	in.apply(m)
	return m.out
}

// apply begins a scheduled rotation, and types the prompt into a cleared
// context. The session that an idle agent is in can also show that its context
// was cleared.
func (in Idle) apply(m *Machine) {
	r := m.open[in.Agent]
	if r == nil || in.At.Before(r.After) {
		return
	}
	switch r.State {
	case Scheduled:
		r.Way = in.Way
		r.Left = in.Session
		r.Began = in.At
		switch {
		case in.Session != r.Session: // another session has requested the rotation
			m.fail(r, ReasonSession, in.At)
			return
		case in.Way == WayNone:
			m.fail(r, ReasonNoTerminal, in.At)
			return
		}
		m.move(r, Reserved, in.At)
		m.do(Prepare{*r})
	case Clearing:
		switch {
		case in.Session == r.Left:
			m.finish(r, r.command(), false, in)
		case in.Session != "" && r.Way != WayRestart: // its start may have been missed
			m.renew(r, in.Session, in.At)
		}
	case Cleared:
		m.move(r, Resuming, in.At)
		r.Tries++
		m.typing[r.ID] = in.At
		m.do(Type{Rotation: *r, Text: r.Prompt, Prompt: true})
	case Resuming:
		// The agent has been at its prompt since the prompt was, or may have
		// been, typed.
		overdue := in.At.Sub(r.Changed) >= m.options.PromptWithin &&
			in.At.Sub(m.since) >= m.options.Grace
		if overdue && r.Way != WayRestart && r.Tries < promptTries {
			m.move(r, Cleared, in.At)
			return
		}
		m.finish(r, r.Prompt, true, in)
	}
}

// finish requests Enter in case the text is in the input box without it.
// Nothing is typed again.
func (m *Machine) finish(r *Rotation, text string, prompt bool, in Idle) {
	_, typing := m.typing[r.ID]
	if typing || r.Way == WayRestart || r.Finished ||
		m.age(r, in.At) < m.options.FinishAfter {
		return
	}
	r.After = in.At.Add(firstPause)
	m.typing[r.ID] = in.At
	m.do(Type{*r, text, prompt, true})
}

// command returns the command that clears the context.
func (r *Rotation) command() string {
	if r.Way == WayNew {
		return "/new"
	}
	return "/clear"
}

// apply continues with a document that may be handed over, or fails the
// rotation.
func (in Prepared) apply(m *Machine) {
	r := m.under(in.ID, Reserved)
	if r == nil {
		return
	}
	if in.Reason != "" {
		m.fail(r, in.Reason, in.At)
		return
	}
	r.Document = in.Document
	r.Channel = in.Channel
	r.Read = in.Read
	r.Written = in.Written
	r.Plain = in.Plain
	r.Prompt = m.options.Resume(cmp.Or(r.Plain, r.Read))
	m.move(r, Clearing, in.At)
	if r.Way == WayRestart {
		r.Prompt = strings.Join(append([]string{r.Prompt}, in.Messages...), "\n")
		m.do(Restart{*r})
		return
	}
	m.typing[r.ID] = in.At
	m.do(Type{Rotation: *r, Text: r.command()})
}

// apply handles the result of typing. Either a proof will follow, or nothing
// has happened; then the text is typed again later, or the rotation fails.
func (in Typed) apply(m *Machine) {
	delete(m.typing, in.ID)
	state := Clearing
	back := Scheduled
	if in.Prompt {
		state = Resuming
		back = Cleared
	}
	r := m.under(in.ID, state)
	if r == nil && !in.Prompt {
		r = m.under(in.ID, Scheduled)
	}
	switch {
	case r == nil:
		return
	case in.Finish && in.Pressed: // the time limit for the proof begins again
		m.move(r, state, in.At)
		r.Finished = true
		return
	case in.Finish || in.Pressed:
		return
	case in.Prompt:
		r.Tries--
	}
	switch {
	case in.Reason == ReasonBusy: // turns have no time limit
		r.Refused = time.Time{}
	case r.Refused.IsZero():
		r.Refused = in.At
	}
	r.Last = in.Reason
	m.move(r, back, in.At) // nothing has happened
	if !r.Refused.IsZero() && in.At.Sub(r.Refused) >= patience {
		reason := in.Reason
		if back == Cleared {
			reason = ReasonPromptLate
		}
		m.fail(r, reason, in.At)
		return
	}
	r.Pause = min(max(firstPause, 2*r.Pause), longestPause)
	r.After = in.At.Add(r.Pause)
}

// apply handles the answer of `sm run`.
func (in Answered) apply(m *Machine) {
	r := m.under(in.ID, Clearing)
	switch {
	case r == nil:
	case in.Reason != "":
		r.Detail = in.Detail
		if in.Untouched {
			m.move(r, Reserved, in.At)
		}
		m.fail(r, in.Reason, in.At)
	default:
		m.renew(r, "", in.At)
	}
}

// apply handles the proof that a context was cleared: another session, newer
// than the reservation. Old clients keep the session and report the clear by a
// hook.
func (in Started) apply(m *Machine) {
	r := m.open[in.Agent]
	switch {
	case r == nil || in.At.Before(r.Began) || in.Session == r.Left && !in.Cleared:
	case r.State == Clearing:
		m.renew(r, in.Session, in.At)
	case r.State == Resuming && r.Next == "", r.State == Cleared && r.Next == "":
		r.Next = in.Session
	}
}

// renew records the new context. A restarted client has already got its prompt.
func (m *Machine) renew(r *Rotation, session string, at time.Time) {
	r.Next = session
	r.Refused = time.Time{}
	r.After = time.Time{}
	r.Pause = 0
	r.Last = ""
	s := m.agent(r.Agent)
	s.Executed = append(m.recent(s, at), at)
	m.move(r, Cleared, at)
	if r.Way == WayRestart {
		m.move(r, Resuming, at)
	}
}

// apply ends the rotation of a client that has ended, unless it is being restarted.
func (in Gone) apply(m *Machine) {
	r := m.open[in.Agent]
	if r != nil && (r.Way != WayRestart || !r.State.Touched()) {
		m.fail(r, ReasonGone, in.At)
	}
}

// apply checks the size of a context that a rotation has begun.
func (in First) apply(m *Machine) {
	s := m.agents[in.Agent]
	if s == nil || s.Judged || s.Session == "" || s.Session != in.Session {
		return
	}
	s.Judged = true
	s.Futile = in.High
	m.agentsChanged[s.Agent] = true
	if in.High {
		m.do(Unhelpful{*s})
	}
}

// apply permits the agent to hand over again, since its context has room. An
// automatic rotation that has not begun is not needed any more.
func (in Compacted) apply(m *Machine) {
	if r := m.open[in.Agent]; r != nil && r.State == Scheduled && r.Auto() {
		m.end(r, Cancelled, ReasonCompacted, in.At)
	}
	if s := m.agents[in.Agent]; s != nil && s.Futile {
		m.agent(in.Agent).Futile = false
	}
}

// age returns how long a rotation has been in its state, or since the start of
// the observer if that is later: after a restart the time limit for a proof
// begins again, and a text at the prompt can be finished.
func (m *Machine) age(r *Rotation, now time.Time) time.Duration {
	if m.since.After(r.Changed) {
		return now.Sub(m.since)
	}
	return now.Sub(r.Changed)
}

func (m *Machine) do(e Effect) { m.out = append(m.out, e) }
