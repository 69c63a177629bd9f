package fleet

import (
	"time"

	"sm/alerts"
	"sm/observer/tally"
	"sm/transcript"
	"sm/transcript/clients"
)

// Claude is Claude Code, as the label client of metrics names it.
const Claude = clients.Claude

// View describes one session at one moment, for /metrics, the API and the tables.
// It is a plain value.
type View struct {
	// Agent is the agent's id; without any signal but the transcript, the
	// session's own id.
	Agent string
	// Label names the agent in metrics: given at first sight, unique, kept; "" for a
	// session that it has left.
	Label string
	// SessionID is the id in the transcript's name; where that is none, the id that
	// its records name, else the name. Only then may two sessions have the same.
	SessionID string
	Name      string // the agent's name, "" for none; the client's own is Client.Name
	// Title is what people call the session, "" for none: one line of at most
	// [transcript.MaxTitle] characters. It is text of a transcript.
	Title string
	// Paid is what the client reckons that the session has cost. CacheHit is the cache's
	// share of all input by the status line, where CacheHitKnown; see [View.CacheHits].
	Paid          tally.Cost
	CacheHit      float64
	CacheHitKnown bool
	// CacheExpires is when the newest entry of the prompt cache expires, and
	// IdleCompaction when the client compacts if it stays idle until then; zero for
	// unknown or never. CacheWriteUSD is that of [Opening], 0 after the first reply.
	CacheExpires   time.Time
	IdleCompaction time.Time
	CacheWriteUSD  float64
	ParentID       string // the agent's parent, "" for none
	Provider       string // the same unless registered otherwise
	Program        string // the client that wrote the session, see [clients.Table.Of]
	Path           string // of the transcript
	Project        string // last element of the working directory, else of the folder's name
	CWD            string
	Model          string
	Version        string

	Tokens  int64 // of the context
	Cleared int64 // tokens that are not in it, but that the client's compaction counts besides
	Known   bool  // false while Tokens is unknown
	// Estimate is what the client itself takes for the size while it is unknown, 0 for nothing.
	Estimate int64
	Source   transcript.Source // of Tokens: the transcript, or an estimate
	Reading  time.Time
	Peak     int64
	Window   transcript.Window
	Level    alerts.Level
	// Basis is how the size is known at which the client is assumed to compact.
	Basis clients.Basis

	// Compactions happened in this session; Inherited were copied into its file
	// from another one. Both by trigger.
	Compactions, Inherited transcript.TriggerCounts
	// Counted are those that happened since the state directory was made.
	Counted transcript.TriggerCounts
	Cycle   int // 1 plus the compactions of the session

	Turns    int
	InTurn   bool
	Messages int // without those copied from another session's file
	Cost     transcript.Usage

	SubagentFiles    int
	SubagentMessages int
	SubagentTokens   transcript.Usage
	// SubagentsAtWork are those with a record of late, SubagentContext the largest of their contexts, in tokens; 0 while
	// unknown. See [Fleet.Subagents].
	SubagentsAtWork int
	SubagentContext int64

	Bytes, Lines, Bad int64

	Started, Active time.Time // first and last timestamp; zero for none
	Written         time.Time // modification time of the transcript
	// Last is when the session was last heard of: by its newest record or a signal of its client, and by the time of its
	// file once that has grown. A fresh copy of an old transcript has an old one.
	Last time.Time
	// Live means that the session's client runs, or had activity within
	// Options.ActiveFor and is neither Ended nor Past. A copy of an old transcript is
	// not live, though Seen.
	Live bool
	// Ended means that the session's client has ended: by its last hook, or because
	// its process is gone.
	Ended bool

	// Waits means that the client waits for a person to answer a dialog; Reason is
	// "" while unknown.
	Waits  bool
	Reason string

	// Bill is that of the newest boundary of the session's context, nil for none; DearBills counts those in a row
	// that were in the worst tenth.
	Bill      *transcript.Bill
	DearBills int

	// Client is what the client's own registry says of the process that holds the
	// session; Client.Runs is false when it says nothing.
	Client Client

	// Left means that the agent of this session has gone on to another: it is shown by
	// itself, under its own id.
	Left bool

	// Sample is the newest report of the status line, Check the result of comparing it
	// with the transcript: None and so on; Drift is the number of tokens that
	// it has more, if DriftKnown.
	Sample     Sample
	Check      string
	Drift      int64
	DriftKnown bool
	// Spoke is when the status line last spoke, Hooked when a hook last did; zero for
	// never.
	Spoke, Hooked time.Time
	// Tmux, Server and Pane identify the agent's pane, PID and Start its process, as far
	// as its hooks have reported them.
	Tmux   string
	Server int
	Pane   string
	PID    int
	Start  string
}

// Seen is when a session last did anything: by its newest record, or by the time
// of its file, since not all records carry a time, or by a signal of its client.
func (v *View) Seen() time.Time {
	seen := v.Active
	for _, t := range [...]time.Time{v.Written, v.Spoke, v.Hooked} {
		if t.After(seen) {
			seen = t
		}
	}
	return seen
}

// Client is one running client.
type Client = transcript.Client
