package rotation

import (
	"cmp"
	"strings"
	"time"

	"sm/alerts"
	"sm/transcript/wording"
)

// Options are the settings of [Machine].
type Options struct {
	// BreakerCount rotations of one agent within BreakerWithin are enough: the next is
	// refused. 0: no breaker.
	BreakerCount  int
	BreakerWithin time.Duration
	// Resume is the prompt that a new context begins with, fit to be typed; nil for
	// [UsualPrompt].
	Resume func(path string) string

	// ClearWithin is how long after /clear its proof may take. 0 is 30 s: clients call their
	// hooks within 100 ms or so, and a slow hook of the user's holds up to 10 s.
	ClearWithin time.Duration
	// RestartWithin is the same for `sm run`. 0 is 90 s: it gives the old client 10 s to end.
	RestartWithin time.Duration
	// PromptWithin is how long the transcript may take to show the prompt. 0 is 20 s: it does
	// within milliseconds, unless the machine is very slow.
	PromptWithin time.Duration
	// Grace is how long after a restart of the observer no prompt is typed again. 0 is 10 s:
	// what happened meanwhile is told by the transcripts and the client's registry within a
	// second or two.
	Grace time.Duration
	// FinishAfter is how long after a text was typed, or the observer began, it is looked
	// whether the text still stands there. 0 is 3 s: by then its proof has come, or the
	// registry tells.
	FinishAfter time.Duration
}

func (o Options) withDefaults() Options {
	o.ClearWithin = cmp.Or(o.ClearWithin, 30*time.Second)
	o.RestartWithin = cmp.Or(o.RestartWithin, 90*time.Second)
	o.PromptWithin = cmp.Or(o.PromptWithin, 20*time.Second)
	o.Grace = cmp.Or(o.Grace, 10*time.Second)
	o.FinishAfter = cmp.Or(o.FinishAfter, 3*time.Second)
	if o.Resume == nil {
		o.Resume = UsualPrompt
	}
	return o
}

const (
	// patience is how long the terminal may refuse, say for a human's draft.
	patience = 10 * time.Minute
	// promptTries bounds how often a prompt is typed that nothing shows to be heard: again
	// only when the agent waits at an empty prompt all the while.
	promptTries = 3
	// prepareWithin is how long the document may take to be read and copied: a file system
	// over a network may not answer at all.
	prepareWithin = 30 * time.Second
	// The pauses after a refusal.
	firstPause, longestPause = 2 * time.Second, 30 * time.Second
	// keptFor is how long a rotation that has ended is kept, maxKept how many of an agent.
	keptFor = 24 * time.Hour
	maxKept = 20
)

// Machine carries out handoffs, one at a time for each agent. It is pure: what is to
// be done comes out as effects, and what became of it comes in as inputs. It is for one
// goroutine at a time.
type Machine struct {
	*book
	since time.Time // of the Restore, zero for none
	// typing are the rotations for which a text is on its way, with since when: until the
	// answer nobody knows what stands at the prompt.
	typing map[ID]time.Time
	out    []Effect
}

// New knows no rotation.
func New(o Options) *Machine {
	return &Machine{typing: map[ID]time.Time{}, book: &book{
		options: o.withDefaults(), all: map[ID]*Rotation{}, open: map[alerts.AgentID]*Rotation{}, agents: map[alerts.AgentID]*AgentRecord{},
		changed: map[ID]struct{}{}, agentsChanged: map[alerts.AgentID]struct{}{},
	}}
}

// Configure changes the settings, for rotations that are under way too.
func (m *Machine) Configure(o Options) { m.options = o.withDefaults() }

// Step takes what has happened and says what follows. An input for an unknown rotation, or one that comes too late for its
// rotation, changes nothing.
func (m *Machine) Step(in Input) []Effect {
	m.out = nil
	switch x := in.(type) {
	case Idle:
		m.idle(m.open[x.Agent], x)
	case Prepared:
		m.prepared(m.under(x.ID, Reserved), x)
	case Typed:
		delete(m.typing, x.ID)
		switch {
		case x.Finish && x.Prompt:
			m.finished(m.under(x.ID, Resuming), x)
		case x.Finish:
			m.finished(m.under(x.ID, Clearing), x)
		case x.Prompt:
			m.prompted(m.under(x.ID, Resuming), x)
		default:
			m.cleared(m.under(x.ID, Clearing), x)
		}
	case Answered:
		m.answered(m.under(x.ID, Clearing), x)
	case Started:
		m.started(m.open[x.Agent], x)
	case Heard:
		if r := m.open[x.Agent]; r != nil {
			m.heard(r, x)
		} else {
			m.overhear(x)
		}
	case Gone:
		m.gone(m.open[x.Agent], x)
	case First:
		m.first(m.agents[x.Agent], x)
	case Compacted:
		if s := m.agents[x.Agent]; s != nil && s.Futile {
			m.agent(x.Agent).Futile = false // there is room again
		}
	}
	return m.out
}

// idle begins what was scheduled, and types the prompt into what was cleared. That it was
// is shown by the agent's present session, too.
func (m *Machine) idle(r *Rotation, in Idle) {
	if r == nil || in.At.Before(r.After) {
		return
	}
	switch r.State {
	case Scheduled:
		r.Way, r.Left, r.Began = in.Way, in.Session, in.At
		switch {
		case in.Session != r.Session: // the session there now has not asked for it
			m.fail(r, ReasonSession, in.At)
			return
		case in.Way == WayNone:
			m.fail(r, ReasonNoTerminal, in.At)
			return
		}
		m.move(r, Reserved, in.At)
		m.do(Hold{r.Agent}, Prepare{*r})
	case Clearing:
		switch {
		case in.Session == r.Left:
			m.finish(r, r.command(), false, in)
		case in.Session != "" && r.Way != WayRestart: // the news may have been lost with an observer
			m.renew(r, in.Session, in.At)
		}
	case Cleared:
		m.move(r, Resuming, in.At)
		r.Tries++
		m.typing[r.ID] = in.At
		m.do(Resume{*r})
	case Resuming:
		// It was typed, or was about to be when the observer ended, and nobody has heard of it
		// while the agent has sat at its prompt ever since.
		if r.Way != WayRestart && r.Tries < promptTries && in.At.Sub(r.Changed) >= m.options.PromptWithin && in.At.Sub(m.since) >= m.options.Grace {
			m.move(r, Cleared, in.At)
			return
		}
		m.finish(r, r.Prompt, true, in)
	}
}

// finish looks after a text that may stand at the prompt without Enter. It is no second
// typing: what does not stand there is not touched.
func (m *Machine) finish(r *Rotation, text string, prompt bool, in Idle) {
	_, typing := m.typing[r.ID]
	if typing || r.Way == WayRestart || r.Finished || m.age(r, in.At) < m.options.FinishAfter {
		return
	}
	r.After = in.At.Add(firstPause)
	m.typing[r.ID] = in.At
	m.do(Finish{*r, text, prompt})
}

// finished takes note of an Enter: from here on the proof has its time again.
func (m *Machine) finished(r *Rotation, in Typed) {
	if r != nil && in.Pressed {
		m.move(r, r.State, in.At)
		r.Finished = true
	}
}

// command is what clears the context at a prompt.
func (r *Rotation) command() string {
	if r.Way == WayNew {
		return "/new"
	}
	return "/clear"
}

// prepared goes on with a document that is fit.
func (m *Machine) prepared(r *Rotation, in Prepared) {
	if r == nil {
		return
	}
	if in.Reason != "" {
		m.fail(r, in.Reason, in.At)
		return
	}
	r.Document, r.Channel, r.Read, r.Written = in.Document, in.Channel, in.Read, in.Written
	r.Plain = in.Plain
	r.Prompt = m.options.Resume(cmp.Or(r.Plain, r.Read))
	m.move(r, Clearing, in.At)
	if r.Way == WayRestart {
		r.Prompt = strings.Join(append([]string{r.Prompt}, in.Messages...), "\n")
		m.do(Restart{*r})
		return
	}
	m.typing[r.ID] = in.At
	m.do(Clear{*r, r.command()})
}

// UsualPrompt is what a new context begins with unless the configuration says otherwise.
func UsualPrompt(path string) string { return wording.Resume(path) }

// cleared takes note of what became of /clear: it was typed, and there will be proof; or
// nothing has happened, and it can be tried again.
func (m *Machine) cleared(r *Rotation, in Typed) {
	if r == nil || in.Pressed {
		return
	}
	m.do(Release{r.Agent})
	m.refused(r, Scheduled, in)
}

// prompted is the same of the prompt.
func (m *Machine) prompted(r *Rotation, in Typed) {
	if r != nil && !in.Pressed {
		r.Tries--
		m.refused(r, Cleared, in)
	}
}

// refused puts a try off, or gives up.
func (m *Machine) refused(r *Rotation, back State, in Typed) {
	switch {
	case in.Reason == ReasonBusy: // it works on, for as long as it likes
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

// answered takes note of what `sm run` has done.
func (m *Machine) answered(r *Rotation, in Answered) {
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

// started is the proof that a context was cleared: a session that is newer than the
// reservation, and another one. Old clients keep the session and say by a hook that it was
// cleared.
func (m *Machine) started(r *Rotation, in Started) {
	switch {
	case r == nil || in.At.Before(r.Began) || in.Session == r.Left && !in.Cleared:
	case r.State == Clearing:
		m.renew(r, in.Session, in.At)
	case r.State == Resuming && r.Next == "", r.State == Cleared && r.Next == "":
		r.Next = in.Session
		m.touch(r)
	}
}

// renew notes the new context. A restarted client has its prompt already.
func (m *Machine) renew(r *Rotation, session string, at time.Time) {
	r.Next = session
	r.Refused, r.After, r.Pause, r.Last = time.Time{}, time.Time{}, 0, ""
	s := m.agent(r.Agent)
	s.Executed = append(m.recent(s, at), at)
	m.move(r, Cleared, at)
	if r.Way == WayRestart {
		m.move(r, Resuming, at)
	}
}

// gone ends what the agent's client can no longer do. A client that ends while it is
// restarted does so on purpose.
func (m *Machine) gone(r *Rotation, in Gone) {
	if r != nil && (r.Way != WayRestart || !r.State.Touched()) {
		m.fail(r, ReasonGone, in.At)
	}
}

// first checks how full a context is that a rotation has begun.
func (m *Machine) first(s *AgentRecord, in First) {
	if s == nil || s.Judged || s.Session == "" || s.Session != in.Session {
		return
	}
	s.Judged, s.Futile = true, in.High
	m.agentsChanged[s.Agent] = struct{}{}
	if in.High {
		m.do(Unhelpful{*s})
	}
}

// age is how long a rotation has been in its state under this observer: after a restart a
// proof has its whole time again, and what stands at a prompt can be finished.
func (m *Machine) age(r *Rotation, now time.Time) time.Duration {
	if m.since.After(r.Changed) {
		return now.Sub(m.since)
	}
	return now.Sub(r.Changed)
}

func (m *Machine) do(list ...Effect) { m.out = append(m.out, list...) }
