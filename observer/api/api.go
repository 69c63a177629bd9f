// Package api has the JSON types of the observer's routes, and a client for its
// Unix socket.
//
// Published fields keep their names and meanings; fields are only added. Unknown
// values are null or absent, never 0.
//
// The package has no logic: the packages that compute the values define their
// meaning.
package api

import (
	"cmp"
	"time"
)

// Session is one agent with its present session, as in GET /sessions.
type Session struct {
	// Host is the machine in a view of several machines; an observer omits its
	// own.
	Host string `json:"host,omitempty"`
	ID   string `json:"id"`
	Name string `json:"name"`
	// Title is the title of the session, "" for none: one line of at most 80
	// characters.
	Title    string `json:"title"`
	ParentID string `json:"parent_session_id"`
	Provider string `json:"provider"`
	// Client is the client that wrote the session: claude or codex.
	Client string `json:"client"`
	// Label is the session's name in metrics.
	Label          string `json:"session"`
	SessionID      string `json:"session_id"`
	TranscriptPath string `json:"transcript_path"`
	Project        string `json:"project"`
	CWD            string `json:"cwd"`
	Model          string `json:"model"`
	Version        string `json:"version"`
	// TokensUsed and UsedPercentage are null while the context is unknown. The
	// percentage is the client's: a whole number, at most 100. After a
	// compaction only the client's own estimate, a percentage, may be known.
	TokensUsed     *int64 `json:"tokens_used"`
	UsedPercentage *int   `json:"used_percentage"`
	PeakTokens     int64  `json:"peak_context_tokens"`
	WindowTokens   int64  `json:"window_tokens"`
	WindowSource   string `json:"window_source"`
	Level          string `json:"level"` // ok, early_warn, warn, critical; "" while unknown
	Cycle          int    `json:"cycle"`
	IsCompacting   bool   `json:"is_compacting"`
	IsIdle         bool   `json:"is_idle"`
	IsActive       bool   `json:"is_active"`
	// State is left, ended, waiting (for a person), the status in the client's
	// registry, else busy, idle, or quiet after 10 minutes without a record.
	State string `json:"state"`
	// WaitingFor is why a waiting session needs a person, according to its
	// client: "permission: Bash", "question"; "" for nothing, or while unknown.
	WaitingFor  string  `json:"waiting_for"`
	LastHandoff *string `json:"last_handoff_path"`
	// Compactions happened in this session; Inherited counts those that are in
	// its file but happened in another session.
	Compactions Compactions `json:"compactions"`
	Inherited   int         `json:"inherited_compactions"`
	// DriftTokens is the number of tokens that the status line has more than
	// the transcript, 0 if they agree. CrossCheck is agrees, lagging, drift, or
	// "" if there is nothing to compare.
	DriftTokens *int64 `json:"drift_tokens"`
	CrossCheck  string `json:"cross_check"`
	// ContextSource is the source of tokens_used: transcript, statusline or
	// estimate.
	ContextSource string `json:"context_source"`
	// ClearedTokens is the number of tokens of tool results that were omitted
	// from the newest request: the client adds them to tokens_used when it
	// decides whether to compact.
	ClearedTokens int64 `json:"cleared_tokens"`
	// ThresholdTokens is the size at which the client compacts, null while
	// unknown. ThresholdSource is configured, seen, assumed, refusal (the
	// client is assumed to compact when the API refuses a request, near this
	// size), earliest (assumed, and the true size may be larger), or "" while
	// unknown. Forecast is the distance to the compaction with the range that
	// contains it four times out of five.
	ThresholdTokens *int64 `json:"compaction_threshold_tokens"`
	ThresholdSource string `json:"compaction_threshold_source"`
	// Pressure is the share of compaction_threshold_tokens that context and
	// cleared_tokens have reached, 0 or more, null while unknown; PressureLevel
	// is calm, rising, high, imminent, or "" while unknown.
	Pressure      *float64  `json:"pressure"`
	PressureLevel string    `json:"pressure_level"`
	Forecast      *Forecast `json:"forecast"`
	// Trend has the last sizes of the context, at most 30, as shares of the
	// window, the newest last. It is present only if it was requested.
	Trend   []float64 `json:"trend,omitempty"`
	Enabled bool      `json:"enabled"` // notices are sent
	Queued  int       `json:"queued_messages"`
	// Reachable means that notices can reach the agent.
	Reachable bool `json:"reachable"`
	// HooksSeen means that a hook of the present session was received; WaitForHooks
	// counts the queued messages that wait for one.
	HooksSeen    bool `json:"hooks_seen"`
	WaitForHooks int  `json:"messages_waiting_for_hooks"`
	// Handoff is the state of the handoff in progress, Brake the reason why the
	// agent cannot hand over again: breaker, futile; both are "" for none.
	Handoff    string     `json:"handoff"`
	Brake      string     `json:"handoff_brake"`
	Pane       string     `json:"pane"`
	TmuxSocket string     `json:"tmux_socket"` // of the pane's server; "" where unknown
	Turns      int        `json:"turns"`
	Messages   int        `json:"messages"`
	Tokens     Tokens     `json:"tokens"`
	Subagents  Subagents  `json:"subagents"`
	StartedAt  *time.Time `json:"started_at"`
	LastActive *time.Time `json:"last_activity_at"`
	ReadingAt  *time.Time `json:"reading_at"`
	// StatuslineAt and HookAt are the times of the newest report and hook.
	StatuslineAt *time.Time `json:"statusline_at"`
	HookAt       *time.Time `json:"hook_at"`
	// CostUSD is the cost of the session by the client's calculation.
	// EstimatedUSD is the cost of its tokens and those of its subagents by the
	// configured prices: null without prices, and if CostUSD is known.
	// CacheHitRatio is the share of all input that was read from the cache, 0
	// to 1. They are null while unknown.
	CostUSD       *float64 `json:"cost_usd"`
	EstimatedUSD  *float64 `json:"estimated_cost_usd"`
	CacheHitRatio *float64 `json:"cache_hit_ratio"`
	// CacheExpiresAt is when the newest entry of the prompt cache expires.
	// IdleCompactionAt is when the client compacts if it stays idle.
	// CacheWriteUSD is the cost that the client expects for writing a resumed
	// session's context into the cache with the first request. They are null
	// while unknown.
	CacheExpiresAt   *time.Time `json:"cache_expires_at"`
	IdleCompactionAt *time.Time `json:"idle_compaction_at"`
	CacheWriteUSD    *float64   `json:"estimated_cache_write_usd"`
	// Bill is the cost of the newest boundary of the context, null for none.
	Bill *Bill `json:"bill"`

	// The fields below are only shown by the observer's own page.

	// WarningTokens and CriticalTokens are the sizes at which the levels begin,
	// 0 for none. NoticePercent is the share of the window at which Level
	// begins, 0 while unknown. NoticeRead means that the agent has read the
	// notice of Level.
	WarningTokens  int64 `json:"-"`
	CriticalTokens int64 `json:"-"`
	NoticePercent  int   `json:"-"`
	NoticeRead     bool  `json:"-"`
	Storming       bool  `json:"-"`
	// LastRecord is the time of the newest record or signal, or of the file if
	// there is neither. A copy has a new file.
	LastRecord time.Time `json:"-"`

	// The fields below are for metrics only. TranscriptAt and EstimateAt are
	// the times of the newest reading of these sources. SeenAt includes the
	// modification time of the file.
	TranscriptAt time.Time `json:"-"`
	EstimateAt   time.Time `json:"-"`
	SeenAt       time.Time `json:"-"`
	// StatuslineRatio is the used share of the window by the status line, 0 while unknown.
	StatuslineRatio float64 `json:"-"`
	// Counted has the compactions since the state directory was created.
	// DearCompactions counts the last consecutive compactions that were
	// followed by unusually many rereads.
	Counted         Compactions `json:"-"`
	DearCompactions int         `json:"-"`
}

// Bill is the cost of a boundary of a context: the tokens that were dropped,
// and the part of the next 25 replies that repeats earlier work. It grows with
// these replies.
type Bill struct {
	Kind    string     `json:"kind"`    // compaction, handoff, clear
	Trigger string     `json:"trigger"` // of a compaction: auto, manual, unknown; else ""
	At      *time.Time `json:"at"`
	// TokensDropped and Seconds are null while unknown.
	TokensDropped *int64   `json:"tokens_dropped"`
	Seconds       *float64 `json:"seconds"`
	Replies       int      `json:"replies"` // since then, at most 25
	// Reads are the calls in these replies that read a file, Rereads those of a
	// file that was read before. RereadBytes is the size of the results of
	// Rereads, RereadTokens the growth of the context by them.
	Reads        int   `json:"reads"`
	Rereads      int   `json:"rereads"`
	RereadBytes  int64 `json:"reread_bytes"`
	RereadTokens int64 `json:"reread_tokens"`
	// Reruns counts repeated commands, Reedits edits of files that were edited
	// before, and Restated prompts with nearly the text of an earlier one.
	Reruns   int `json:"reruns"`
	Reedits  int `json:"reedits"`
	Restated int `json:"restated"`
	// RegrownAfter is the number of replies after which the context had grown
	// by RereadTokens, null if it has not yet.
	RegrownAfter *int `json:"regrown_after_replies"`
}

// ShortName returns a short argument for commands that identifies this session:
// its label or name, else the beginning of its ID.
func (s *Session) ShortName() string {
	return cmp.Or(s.Label, s.Name, s.SessionID[:min(8, len(s.SessionID))])
}

// DisplayName returns the name of this session for people: the agent's own
// name, else the title, else the label, else the beginning of an id.
func (s *Session) DisplayName() string { return cmp.Or(s.Name, s.Title, s.ShortName(), s.ID) }

// Forecast is the distance to the next compaction: in replies of the model, in
// turns and in seconds of work; each is null while unknown.
type Forecast struct {
	Replies *Range `json:"replies"`
	Turns   *Range `json:"turns"`
	Seconds *Range `json:"seconds"`
}

// Range is a likely figure and its bounds.
type Range struct {
	Low    float64 `json:"low"`
	Likely float64 `json:"likely"`
	High   float64 `json:"high"`
}

// Compactions counts compactions by trigger.
type Compactions struct {
	Auto    int `json:"auto"`
	Manual  int `json:"manual"`
	Idle    int `json:"idle"`
	Unknown int `json:"unknown"`
}

// By returns the count of a trigger, such as auto. All other words count as
// unknown.
func (c *Compactions) By(trigger string) *int {
	switch trigger {
	case "auto":
		return &c.Auto
	case "manual":
		return &c.Manual
	case "idle":
		return &c.Idle
	}
	return &c.Unknown
}

// Total is the number of compactions of all triggers.
func (c Compactions) Total() int { return c.Auto + c.Manual + c.Idle + c.Unknown }

// Tokens are sums over API messages, each counted once.
type Tokens struct {
	Input         int64 `json:"input"`
	CacheCreation int64 `json:"cache_creation"`
	CacheRead     int64 `json:"cache_read"`
	Output        int64 `json:"output"`
}

// Subagents is the usage of a session's subagents.
type Subagents struct {
	Files    int    `json:"files"`
	Messages int    `json:"messages"`
	Tokens   Tokens `json:"tokens"`
	// Active counts the active subagents, MaxContext is their largest context
	// in tokens, 0 while unknown. Only the observer's own page shows both.
	Active     int   `json:"-"`
	MaxContext int64 `json:"-"`
	// Latest has the last active subagents, at most 32, the newest first. It is
	// present only in the answer for a single session.
	Latest []Subagent `json:"latest,omitempty"`
}

// Subagent is one subagent by its own transcript. Its context is not in that of its session.
type Subagent struct {
	ID string `json:"id"`
	// Type is the client's name for its kind, "" while unknown.
	Type string `json:"type"`
	// ContextTokens is null while the context is unknown.
	ContextTokens *int64     `json:"context_tokens"`
	PeakTokens    int64      `json:"peak_tokens"`
	Compactions   int        `json:"compactions"`
	LastReading   *time.Time `json:"last_reading"`
	// WindowTokens and LastActive are shown by the page of the observer itself only.
	WindowTokens int64     `json:"-"`
	LastActive   time.Time `json:"-"`
}

// Sessions is the answer of GET /sessions.
type Sessions struct {
	Sessions []Session `json:"sessions"`
	// CatchingUp is true until the existing transcripts have been read.
	CatchingUp bool `json:"catching_up"`
	// RateLimits are the account's; Today is the usage since local midnight.
	RateLimits RateLimits `json:"rate_limits"`
	Today      Today      `json:"today"`
	// Others counts the omitted sessions if only recent ones were requested.
	Others int `json:"others,omitempty"`
	// Hosts counts the machines in a view of several, and Down names the
	// machines without an answering observer. An observer sets neither.
	Hosts int      `json:"-"`
	Down  []string `json:"-"`
	// Demo means that all agents are simulated: the observer runs with --demo.
	Demo bool `json:"demo,omitempty"`
	// NotWarned is true while no agent can be reached: agents get no notices.
	NotWarned bool `json:"agents_not_warned,omitempty"`
}

// NotWarnedNotice is shown by the page, top and status while NotWarned is true.
const NotWarnedNotice = "Watching only: agents get no notices. sm install adds them."

// NoneReachable is the error for messages and reminders while NotWarned is
// true.
const NoneReachable = "no agent can be reached: run sm install, and give an agent a prompt"

// RateLimits are how far an account has used its limits, each null while unknown.
type RateLimits struct {
	FiveHour *RateLimit `json:"five_hour"`
	SevenDay *RateLimit `json:"seven_day"`
	// Codex has the limits of the account that Codex CLI uses, absent while
	// unknown.
	Codex *RateLimits `json:"codex,omitempty"`
}

// RateLimit is one window: the used share, 0 to 1, and when it ends.
type RateLimit struct {
	UsedRatio float64   `json:"used_ratio"`
	ResetsAt  time.Time `json:"resets_at"`
}

// Today is the usage since local midnight. CostUSD is null while no status line
// has reported a cost of today. CostSince is the time from which costs are
// known, if that is after midnight. EstimatedUSD is the cost by the configured
// prices that no client has reported; null without prices. Unpriced means that
// some models have no price.
type Today struct {
	Tokens       uint64     `json:"tokens"`
	CostUSD      *float64   `json:"cost_usd"`
	CostSince    *time.Time `json:"cost_since,omitempty"`
	EstimatedUSD *float64   `json:"estimated_cost_usd"`
	Unpriced     bool       `json:"unpriced,omitempty"`
}

// MaxListed limits the number of sessions in a list of recent ones.
const MaxListed = 5000

// Error is the body of every answer that is not a success.
type Error struct {
	Error string `json:"error"`
}
