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
	// Reminders are all that have not ended, by id.
	Reminders []Reminder
}

// Counters never decrease.
type Counters struct {
	// Notices counts notices by Kind; one that goes to parent and operator counts
	// once.
	Notices [Kinds]uint64
	// Attempts counts compactions that began, by Trigger.
	Attempts [4]uint64
	Storms   uint64
	// Lapsed counts compactions that were begun and given up after Options.Settle,
	// Guessed the cycles that were opened without any sign.
	Lapsed, Guessed uint64
	// Stale counts ignored samples: older than the cycle or the sample before,
	// an echo, or larger than the window.
	Stale uint64
	// ClockSteps counts how often the clock was set back.
	ClockSteps uint64
	// Reminders counts those that were due, by ReminderOutcome.
	Reminders [reminderOutcomes]uint64
}

// Clients are those that should compact at the same size. CompactsAt is the size
// that is assumed for them, which identifies their settings. Agent is "" for all
// such clients, else they are those of that agent alone.
type Clients struct {
	Agent              string
	Model              string
	Window, CompactsAt int64
}

// ObservedCompactions are the sizes before the newest automatic compactions of
// one kind of client, oldest first, at most 25.
type ObservedCompactions struct {
	Clients
	PreTokens []int64
}

// Reading is a context size as the engine keeps it.
type Reading struct {
	At     Instant `json:",omitzero"` // 0: there is none
	Tokens int64   `json:",omitzero"`
	// Cleared comes on top of Tokens where the client decides whether to compact: see
	// transcript.Reading.
	Cleared int64 `json:",omitzero"`
	Window  int64 `json:",omitzero"` // 0 when unknown
	// Reserved tokens of Window are left out of percentages.
	Reserved int64  `json:",omitzero"`
	Model    string `json:",omitzero"`
	// CompactsAt is the size at which the client is assumed to compact by itself, by its
	// version and settings, 0 when unknown and for never.
	CompactsAt int64             `json:",omitzero"`
	Source     transcript.Source `json:",omitzero"`
}

func (r *Reading) window() transcript.Window {
	return transcript.Window{Tokens: r.Window, Reserved: r.Reserved}
}

// Sent is a notice of the current cycle.
type Sent struct {
	// At is the time of its cause; 0: not sent.
	At Instant `json:",omitzero"`
	// Key is its key; empty if it was not sent but counts as covered.
	Key Key `json:",omitzero"`
	// Read is when the agent read it, 0 if that is not known.
	Read Instant `json:"Heard,omitzero"`
	// Open means that it was not withdrawn.
	Open bool `json:",omitzero"`
}

// Burst is an automatic compaction, for detecting storms.
type Burst struct {
	At   Instant `json:",omitzero"`
	Turn int     `json:",omitzero"`
}

// Opening is what belongs to the present cycle alone, from its opening on.
type Opening struct {
	Opened Instant `json:",omitzero"` // its stamp, 0 for the first cycle
	Cause  Cause   `json:",omitzero"`
	// Signs are the stamps of what belongs to this opening, by Sign.
	Signs [signs]Instant `json:",omitzero"`
	// Boundary is the key of the compaction that opened the cycle, 0: unknown. Keyed means
	// that AgentState.Session came with this cycle.
	Boundary transcript.Key `json:",omitzero"`
	Keyed    bool           `json:",omitzero"`
	// Handoff is the key of the handoff that opened the cycle, 0 for none.
	Handoff transcript.Key `json:",omitzero"`
	// First is the stamp of the cycle's first reading, 0 for none so far.
	First Instant `json:",omitzero"`
	// Prior is the sample before the newest.
	Prior Reading `json:",omitzero"`
	// Back is since when samples show that the client has gone back in its
	// conversation, 0 if they do not. Until the next reading the newest sample
	// since then counts as the context.
	Back Instant `json:",omitzero"`
	// Counted means that Bursts include the compaction that opened this cycle; Made is
	// its trigger once it is known.
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
	// Clock is the newest stamp of all events other than EventActive.
	Clock Instant `json:",omitzero"`

	// Cycle is the number of the present cycle, from 1 on.
	Cycle int `json:",omitzero"`
	Opening
	// Session is the key of the agent's session, 0: unknown.
	Session transcript.Key `json:",omitzero"`
	// Before is the newest reading from before the cycle.
	Before Reading `json:",omitzero"`
	// Readings are the newest of this cycle, by source. Equal samples in a row are one,
	// with the first one's stamp; one that equals the transcript's reading has that
	// one's. Sampled is the stamp of the newest sample, used or not.
	Readings [3]Reading `json:",omitzero"`
	Sampled  Instant    `json:",omitzero"`

	// Level, Percent and Known are as of the last SetLevel.
	Level   Level `json:",omitzero"`
	Percent int   `json:",omitzero"`
	Known   bool  `json:",omitzero"`
	// Sent are the notices of this cycle by Kind, other than no-data.
	Sent [Kinds]Sent `json:"Said,omitzero"`

	// Begun is the start of a compaction without result, 0 for none. Compacting
	// ends when it is given up. Trigger belongs to it.
	Begun      Instant `json:",omitzero"`
	Compacting bool    `json:",omitzero"`
	Trigger    Trigger `json:",omitzero"`
	// Attempted is the latest compaction attempt. Uncounted means that
	// Counters.Attempts does not include it yet.
	Attempted Instant `json:",omitzero"`
	Uncounted bool    `json:",omitzero"`
	// Guesses are the newest unconfirmed openings.
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
	// of any reading, Silent means that a notice about its absence was sent,
	// Episodes counts those notices.
	Active   bool    `json:",omitzero"`
	Turned   Instant `json:",omitzero"`
	Data     Instant `json:",omitzero"`
	Silent   bool    `json:",omitzero"`
	Episodes int     `json:",omitzero"`

	Growth Growth `json:",omitzero"`
}

// clone returns a deep copy.
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

// current returns the reading that counts as the context: the transcript's; a
// sample if the cycle has no reading of the transcript, or one that is over 5 s
// older; an estimate if there is nothing better.
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

// setBack limits all times in a value to now: later events are compared with them.
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
