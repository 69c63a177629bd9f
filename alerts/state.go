package alerts

import (
	"reflect"
	"slices"

	"sm/transcript"
)

// Instant is a time in nanoseconds since 1970, 0 for none.
type Instant = transcript.Instant

// State is the whole state of an Engine. It shares nothing with the engine.
type State struct {
	// Now is the time of the newest Tick.
	Now      Instant
	Agents   []*AgentState // by id
	Learned  []ObservedCompactions
	Counters Counters
	// Reminders are those that have not ended, by id.
	Reminders []Reminder
}

// Counters never decrease.
type Counters struct {
	// Notices counts notices by Kind. A notice to parent and operator counts
	// once.
	Notices [Kinds]uint64
	// Attempts counts started compactions, by Trigger.
	Attempts [4]uint64
	Storms   uint64
	// Lapsed counts compactions given up after Options.Settle, Guessed the
	// cycles opened without any sign.
	Lapsed, Guessed uint64
	// Stale counts ignored samples: samples older than the cycle or the
	// previous sample, echoes, and samples larger than the window.
	Stale uint64
	// ClockSteps counts how often the clock was set back.
	ClockSteps uint64
	// Reminders counts the reminders that were due, by ReminderOutcome.
	Reminders [reminderOutcomes]uint64
}

// Clients identifies clients that should compact at the same size. CompactsAt
// is the size assumed for them, which identifies their settings. Agent
// restricts them to the clients of one agent; "" means all.
type Clients struct {
	Agent              string
	Model              string
	Window, CompactsAt int64
}

// ObservedCompactions has the context sizes before the newest automatic
// compactions of one kind of client, oldest first, at most 25.
type ObservedCompactions struct {
	Clients
	PreTokens []int64
}

// Reading is a context size as the engine keeps it.
type Reading struct {
	At     Instant `json:",omitzero"` // 0: no reading
	Tokens int64   `json:",omitzero"`
	// Cleared is the number of tokens that the client adds to Tokens when it
	// decides whether to compact: see transcript.Reading.
	Cleared int64 `json:",omitzero"`
	Window  int64 `json:",omitzero"` // 0 when unknown
	// Reserved is the part of Window that percentages leave out.
	Reserved int64  `json:",omitzero"`
	Model    string `json:",omitzero"`
	// CompactsAt is the size at which the client is assumed to compact
	// automatically, by its version and settings; 0 for unknown and never.
	CompactsAt int64             `json:",omitzero"`
	Source     transcript.Source `json:",omitzero"`
}

func (r *Reading) window() transcript.Window {
	return transcript.Window{Tokens: r.Window, Reserved: r.Reserved}
}

// Sent is a notice of the current cycle, which may have reached no recipient.
type Sent struct {
	// At is the time of the notice's cause; 0: not due in this cycle.
	At Instant `json:",omitzero"`
	// Key is empty if the notice was not sent but counts as covered.
	Key Key `json:",omitzero"`
	// Read is when the agent read the notice, 0 if unknown.
	Read Instant `json:"Heard,omitzero"`
	// Open means that the notice was not withdrawn.
	Open bool `json:",omitzero"`
}

// Burst is an automatic compaction, for detecting storms.
type Burst struct {
	At   Instant `json:",omitzero"`
	Turn int     `json:",omitzero"`
}

// Opening is the state of the present cycle only, from its opening on.
type Opening struct {
	Opened Instant `json:",omitzero"` // stamp of the opening, 0 for the first cycle
	Cause  Cause   `json:",omitzero"`
	// Signs are the stamps of the signs that belong to this opening, by Sign.
	Signs [signs]Instant `json:",omitzero"`
	// Boundary is the key of the compaction that opened the cycle, 0: unknown.
	// Keyed means that AgentState.Session was set in this cycle.
	Boundary transcript.Key `json:",omitzero"`
	Keyed    bool           `json:",omitzero"`
	// Handoff is the key of the handoff that opened the cycle, 0 for none.
	Handoff transcript.Key `json:",omitzero"`
	// First is the stamp of the cycle's first reading, 0 for none.
	First Instant `json:",omitzero"`
	// Prior is the sample before the newest one.
	Prior Reading `json:",omitzero"`
	// Back is the time since when samples show that the client has gone back in
	// its conversation, 0 if they do not. Until the next reading the newest
	// sample since then counts as the context.
	Back Instant `json:",omitzero"`
	// Counted means that Bursts includes the compaction that opened this cycle;
	// Made is the trigger of that compaction once it is known.
	Counted bool    `json:",omitzero"`
	Made    Trigger `json:",omitzero"`
	// Beyond counts the replies of this cycle that were larger than the size at
	// which the client was assumed to compact.
	Beyond int `json:",omitzero"`
}

// AgentState is the state of one agent.
type AgentState struct {
	Agent, Parent string `json:",omitzero"`
	Name          string `json:",omitzero"`
	// Muted is Options.Disabled as of the last step.
	Muted bool `json:",omitzero"`
	// Clock is the newest stamp of all events except EventActive.
	Clock Instant `json:",omitzero"`

	// Cycle is the number of the present cycle, from 1 on.
	Cycle int `json:",omitzero"`
	Opening
	// Session is the key of the agent's session, 0: unknown.
	Session transcript.Key `json:",omitzero"`
	// Before is the newest reading from before the cycle.
	Before Reading `json:",omitzero"`
	// Readings are the newest of this cycle, by source. Consecutive equal
	// samples count as one with the stamp of the first. A sample that equals
	// the transcript's reading has the stamp of that reading. Sampled is the
	// stamp of the newest sample, used or not.
	Readings [3]Reading `json:",omitzero"`
	Sampled  Instant    `json:",omitzero"`

	// Level, Percent and Known are the values of the last SetLevel.
	Level   Level `json:",omitzero"`
	Percent int   `json:",omitzero"`
	Known   bool  `json:",omitzero"`
	// Sent are the notices of this cycle by Kind, except no-data.
	Sent [Kinds]Sent `json:"Said,omitzero"`

	// Begun is the start of a compaction without a result, 0 for none.
	// Compacting becomes false when the compaction is given up. Trigger is the
	// cause of that compaction.
	Begun      Instant `json:",omitzero"`
	Compacting bool    `json:",omitzero"`
	Trigger    Trigger `json:",omitzero"`
	// Attempted is the time of the latest compaction attempt. Uncounted means
	// that Counters.Attempts does not include it yet.
	Attempted Instant `json:",omitzero"`
	Uncounted bool    `json:",omitzero"`
	// Guesses are the times of the newest unconfirmed openings.
	Guesses []Instant `json:",omitzero"`
	// Boundaries are the keys of the latest compactions, to recognize repeated
	// events.
	Boundaries []transcript.Key `json:",omitzero"`

	// Bursts are the latest automatic compactions.
	Bursts   []Burst `json:",omitzero"`
	Storming bool    `json:",omitzero"`

	Turns          int     `json:",omitzero"`
	InTurn         bool    `json:",omitzero"`
	Started, Ended Instant `json:",omitzero"` // the newest turn

	// Active is whether the client runs, since Turned. Data is the newest stamp
	// of any reading. Silent means that a notice about missing readings was
	// sent; Episodes counts these notices.
	Active   bool    `json:",omitzero"`
	Turned   Instant `json:",omitzero"`
	Data     Instant `json:",omitzero"`
	Silent   bool    `json:",omitzero"`
	Episodes int     `json:",omitzero"`

	Growth Growth `json:",omitzero"`
}

// clone returns a deep copy, nil for nil.
func (a *AgentState) clone() *AgentState {
	if a == nil {
		return nil
	}
	c := *a
	c.Guesses = slices.Clone(a.Guesses)
	c.Boundaries = slices.Clone(a.Boundaries)
	c.Bursts = slices.Clone(a.Bursts)
	return &c
}

// newest returns the last n elements of a list.
func newest[T any](list []T, n int) []T { return slices.Delete(list, 0, max(0, len(list)-n)) }

// current returns the reading that counts as the context: the transcript's
// reading; a sample if the cycle has no reading of the transcript, or one that
// is over 5 s older; an estimate if there is neither.
func (a *AgentState) current() (Reading, bool) {
	script := a.Readings[transcript.FromTranscript]
	sample := a.Readings[transcript.FromStatusline]
	switch {
	case a.Back != 0 && a.Back >= script.At:
		return sample, sample.At >= a.Back
	case sample.At != 0 && (script.At == 0 || sample.At > script.At+lag):
		return sample, true
	case script.At != 0:
		return script, true
	}
	guess := a.Readings[transcript.FromEstimate]
	return guess, guess.At != 0
}

// setBack limits all times in a value to now, since later events are compared
// with them.
func setBack(v reflect.Value, now int64) {
	switch {
	case v.Type() == reflect.TypeFor[Instant]():
		v.SetInt(min(v.Int(), now))
	case v.Kind() == reflect.Struct:
		for _, field := range v.Fields() {
			setBack(field, now)
		}
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Array:
		for i := range v.Len() {
			setBack(v.Index(i), now)
		}
	}
}
