// Package api is the wire between the observer and the commands that ask it: the
// JSON of its routes, and a client for its Unix socket.
//
// Invariants: a field once published keeps its name and meaning; fields are only
// added; what is unknown is null or absent, never 0.
//
// It holds no logic: what the figures mean is for the packages that make them.
package api

import (
	"cmp"
	"time"
)

// Session is one agent with its present session, as in GET /sessions.
type Session struct {
	// Host is the machine, where sessions of several are looked at; an observer
	// leaves its own out.
	Host string `json:"host,omitempty"`
	ID   string `json:"id"`
	Name string `json:"name"`
	// Title is what people call the session, "" for none: one line of at most 80 characters.
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
	// TokensUsed and UsedPercentage are null while the context is unknown; the
	// percentage is the client's: whole, and cut at 100. While only the client's own estimate
	// is known, after a compaction, it alone is there.
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
	State          string `json:"state"` // left, ended, waiting (for a person), the status in the client's registry, else busy, idle, or quiet after 10 minutes without a record
	// WaitingFor is what a session that is waiting needs a person for, by its
	// client: "permission: Bash", "question"; "" for nothing, and while
	// unknown.
	WaitingFor  string  `json:"waiting_for"`
	LastHandoff *string `json:"last_handoff_path"`
	// Compactions happened in this session; Inherited are in its file but happened in
	// another.
	Compactions Compactions `json:"compactions"`
	Inherited   int         `json:"inherited_compactions"`
	// DriftTokens is the number of tokens that the status line has more than the
	// transcript, 0 when they agree; CrossCheck is agrees, lagging, drift, or "" without
	// anything to compare.
	DriftTokens *int64 `json:"drift_tokens"`
	CrossCheck  string `json:"cross_check"`
	// ContextSource is where tokens_used comes from: transcript, statusline or estimate.
	ContextSource string `json:"context_source"`
	// ClearedTokens is how many tokens of tool results were left out of the newest request:
	// the client adds them to tokens_used when it decides whether to compact.
	ClearedTokens int64 `json:"cleared_tokens"`
	// ThresholdTokens is the size at which the client compacts, null while
	// unknown; ThresholdSource is configured, seen, assumed, refusal (the
	// client is assumed to compact when the API refuses a request, near this
	// size), earliest (assumed, and it may be later), or "" while unknown;
	// ForecastTurns and ForecastSeconds are how far that is, with the range in
	// which it lies four times out of five.
	ThresholdTokens *int64 `json:"compaction_threshold_tokens"`
	ThresholdSource string `json:"compaction_threshold_source"`
	// Pressure is the share of compaction_threshold_tokens that context and
	// cleared_tokens have reached, 0 or more, null while unknown; PressureLevel
	// is calm, rising, high, imminent, or "" while unknown.
	Pressure      *float64  `json:"pressure"`
	PressureLevel string    `json:"pressure_level"`
	Forecast      *Forecast `json:"forecast"`
	// Trend are the last 30 sizes of the context at most, as shares of the
	// window, the newest last. It is there where it was asked for.
	Trend   []float64 `json:"trend,omitempty"`
	Enabled bool      `json:"enabled"` // notices are sent
	Queued  int       `json:"queued_messages"`
	// Reachable means that notices can reach the agent.
	Reachable bool `json:"reachable"`
	// HooksSeen means that a hook of the present session was received; WaitForHooks
	// counts the queued messages that wait for one.
	HooksSeen    bool `json:"hooks_seen"`
	WaitForHooks int  `json:"messages_waiting_for_hooks"`
	// Handoff is the state of the handoff that is under way, Brake what keeps the agent from
	// another: breaker, futile; "" for none.
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
	// StatuslineAt and HookAt are when those sources spoke last.
	StatuslineAt *time.Time `json:"statusline_at"`
	HookAt       *time.Time `json:"hook_at"`
	// CostUSD is what the client reckons that the session has cost. EstimatedUSD is what
	// its tokens and those of its subagents cost by the configured prices: null without
	// prices, and where CostUSD is known. CacheHitRatio is the share of all
	// input that was read from the cache, 0 to 1. They are null while unknown.
	CostUSD       *float64 `json:"cost_usd"`
	EstimatedUSD  *float64 `json:"estimated_cost_usd"`
	CacheHitRatio *float64 `json:"cache_hit_ratio"`
	// CacheExpiresAt is when the newest entry of the prompt cache expires,
	// IdleCompactionAt when the client compacts if it stays idle, CacheWriteUSD
	// what the client expects the first request of a resumed session to cost
	// for writing its context into the cache. They are null while unknown.
	CacheExpiresAt   *time.Time `json:"cache_expires_at"`
	IdleCompactionAt *time.Time `json:"idle_compaction_at"`
	CacheWriteUSD    *float64   `json:"estimated_cache_write_usd"`
	// Bill is what the newest boundary of the context cost, null for none.
	Bill *Bill `json:"bill"`

	// The fields below are shown by the page of the observer itself only.

	// WarningTokens and CriticalTokens are the sizes at which the levels begin, 0 for
	// none. NoticePercent is the share of the window at which Level begins, 0 while
	// unknown. NoticeRead means that the agent has read the notice of Level.
	WarningTokens  int64 `json:"-"`
	CriticalTokens int64 `json:"-"`
	NoticePercent  int   `json:"-"`
	NoticeRead     bool  `json:"-"`
	Storming       bool  `json:"-"`
	// LastRecord is the time of the newest record or signal, only without any that of the
	// file, which is new for a copy.
	LastRecord time.Time `json:"-"`

	// The fields below are for metrics only. TranscriptAt and EstimateAt are when these
	// sources had their newest reading, SeenAt also counts the time of the file.
	TranscriptAt time.Time `json:"-"`
	EstimateAt   time.Time `json:"-"`
	SeenAt       time.Time `json:"-"`
	// StatuslineRatio is the used share of the window by the status line, 0 while unknown.
	StatuslineRatio float64 `json:"-"`
	// Counted are the compactions since the state directory was made, DearCompactions the
	// newest ones in a row that were followed by unusually many rereads.
	Counted         Compactions `json:"-"`
	DearCompactions int         `json:"-"`
}

// Bill is what a boundary of a context cost: what the context lost there, and
// what of the next 25 replies had been done before. It grows while these come.
type Bill struct {
	Kind    string     `json:"kind"`    // compaction, handoff, clear
	Trigger string     `json:"trigger"` // of a compaction: auto, manual, unknown; else ""
	At      *time.Time `json:"at"`
	// TokensDropped and Seconds are null while unknown.
	TokensDropped *int64   `json:"tokens_dropped"`
	Seconds       *float64 `json:"seconds"`
	Replies       int      `json:"replies"` // since then, at most 25
	// Reads are the calls in them that read a file, Rereads those of a file
	// that was read before; what these brought in bytes, and by how many tokens
	// the context grew by it.
	Reads        int   `json:"reads"`
	Rereads      int   `json:"rereads"`
	RereadBytes  int64 `json:"reread_bytes"`
	RereadTokens int64 `json:"reread_tokens"`
	// Reruns counts commands run again, Reedits edits of files that were edited
	// before, Restated prompts with nearly the text of an earlier one.
	Reruns   int `json:"reruns"`
	Reedits  int `json:"reedits"`
	Restated int `json:"restated"`
	// RegrownAfter is after how many replies the context had grown by
	// RereadTokens, null for not yet.
	RegrownAfter *int `json:"regrown_after_replies"`
}

// ShortName is what to type to mean this session: its name, else the beginning of its ID.
func (s *Session) ShortName() string {
	return cmp.Or(s.Label, s.Name, s.SessionID[:min(8, len(s.SessionID))])
}

// DisplayName is what people call this session: the agent's own name, else the title, else
// the label, else the beginning of an id.
func (s *Session) DisplayName() string { return cmp.Or(s.Name, s.Title, s.ShortName(), s.ID) }

// Forecast is how far a compaction is: in replies of the model, in turns and
// in seconds of work; each is null while unknown.
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

// Compactions counts by what made the client compact.
type Compactions struct {
	Auto    int `json:"auto"`
	Manual  int `json:"manual"`
	Idle    int `json:"idle"`
	Unknown int `json:"unknown"`
}

// By is the count of a trigger, such as auto. All other words count as unknown.
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

// Subagents is what the subagents of a session used.
type Subagents struct {
	Files    int    `json:"files"`
	Messages int    `json:"messages"`
	Tokens   Tokens `json:"tokens"`
	// Active counts the working ones, MaxContext is their largest context, 0 while
	// unknown; the page of the observer itself shows both.
	Active     int   `json:"-"`
	MaxContext int64 `json:"-"`
	// Latest are those that did something last, at most 32, the newest first.
	// They are there where one session alone was asked for.
	Latest []Subagent `json:"latest,omitempty"`
}

// Subagent is one subagent by its own transcript. Its context is not in that of its session.
type Subagent struct {
	ID string `json:"id"`
	// Type is what the client calls its kind, "" while unknown.
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
	// CatchingUp is true until all that existed at the start has been read.
	CatchingUp bool `json:"catching_up"`
	// RateLimits are the account's; Today is what was used since local midnight.
	RateLimits RateLimits `json:"rate_limits"`
	Today      Today      `json:"today"`
	// Others counts those left out where recent ones alone were asked for.
	Others int `json:"others,omitempty"`
	// Hosts counts the machines of a view of several, and Down names the machines without
	// an answer from their observer. An observer sets neither.
	Hosts int      `json:"-"`
	Down  []string `json:"-"`
	// Demo means that all agents are simulated: the observer runs with --demo.
	Demo bool `json:"demo,omitempty"`
	// NotWarned is true while no agent can be reached: agents get no notices.
	NotWarned bool `json:"agents_not_warned,omitempty"`
}

// NotWarnedNotice is the line that page, top and status show while NotWarned is true.
const NotWarnedNotice = "Watching only: agents get no notices. sm install adds them."

// NoneReachable is the refusal of messages and reminders while NotWarned is true.
const NoneReachable = "no agent can be reached: run sm install, and start the agents anew"

// RateLimits are how far an account has used its limits, each null while unknown.
type RateLimits struct {
	FiveHour *RateLimit `json:"five_hour"`
	SevenDay *RateLimit `json:"seven_day"`
	// Codex are those of the account that Codex CLI uses, absent while none are known.
	Codex *RateLimits `json:"codex,omitempty"`
}

// RateLimit is one window: the used share, 0 to 1, and when it ends.
type RateLimit struct {
	UsedRatio float64   `json:"used_ratio"`
	ResetsAt  time.Time `json:"resets_at"`
}

// Today is what was used since local midnight. CostUSD is null while no status
// line has reported anything that was spent today; CostSince is from when on
// costs are known where that is later than midnight, absent for the whole day.
// EstimatedUSD is what sessions have spent besides, without a reported cost or before it
// was reported first, by the configured prices; null without prices. Unpriced means that some of their models have no
// price.
type Today struct {
	Tokens       uint64     `json:"tokens"`
	CostUSD      *float64   `json:"cost_usd"`
	CostSince    *time.Time `json:"cost_since,omitempty"`
	EstimatedUSD *float64   `json:"estimated_cost_usd"`
	Unpriced     bool       `json:"unpriced,omitempty"`
}

// MaxListed limits the sessions that a list of recent ones has.
const MaxListed = 5000

// Error is the body of every answer that is not a success.
type Error struct {
	Error string `json:"error"`
}
