package api

import "time"

// Registration is the body of POST /sessions: it registers an agent by name.
type Registration struct {
	ID       string `json:"id"`
	ParentID string `json:"parent_session_id,omitempty"`
	Name     string `json:"name,omitempty"`
	Provider string `json:"provider,omitempty"`
	// SessionID is the client's id; the path of the transcript also contains
	// it.
	SessionID      string `json:"claude_session_id,omitempty"`
	TranscriptPath string `json:"transcript_path,omitempty"`
	Pane           string `json:"pane,omitempty"`
	// Tmux is the socket of the pane's tmux server, "" where unknown.
	Tmux string `json:"tmux_socket,omitempty"`
}

// Usage is the answer of POST /hooks/context-usage to an event.
type Usage struct {
	Status string `json:"status"`
}

// UsageSample is the answer to a report: null stays null.
type UsageSample struct {
	Status         string   `json:"status"`
	UsedPercentage *float64 `json:"used_percentage"`
}

// NewMessage is the body of POST /sessions/{id}/messages.
type NewMessage struct {
	// ID is the sender's own id. Messages with the same id count as one.
	ID   string `json:"id,omitempty"`
	From string `json:"from,omitempty"`
	Text string `json:"text"`
	Mode string `json:"delivery_mode,omitempty"` // sequential, important or urgent
}

// Message is one message to an agent, with its state.
type Message struct {
	ID  string `json:"id"`
	Ref string `json:"ref,omitempty"` // the sender's own id
	// Kind and Key are those of a notice.
	Kind   string `json:"kind,omitempty"`
	Key    string `json:"key,omitempty"`
	To     string `json:"to"`
	From   string `json:"from,omitempty"`
	Mode   string `json:"delivery_mode"`
	Text   string `json:"text"`   // the first 80 characters once it has ended
	Status string `json:"status"` // waiting, offered, confirmed, unconfirmed, expired, withdrawn, refused
	// WaitsFor is WaitsForHooks, or "" for a message that only waits for the
	// right moment.
	WaitsFor  string     `json:"waits_for,omitempty"`
	Via       string     `json:"via,omitempty"`
	Offers    int        `json:"offers"`
	MadeAt    time.Time  `json:"made_at"`
	OfferedAt *time.Time `json:"offered_at"`
	EndedAt   *time.Time `json:"ended_at"`
}

// WaitsForHooks marks a message that waits for a hook of the agent's present
// session: none was received, and its text may not be typed
// (delivery.type_texts).
const WaitsForHooks = "hooks"

// Messages is the answer of GET /messages and GET /sessions/{id}/messages, oldest
// first.
type Messages struct {
	Messages []Message `json:"messages"`
}

// NewReminder is the body of POST /sessions/{id}/reminders: a reminder In
// seconds from now, or a periodic one that comes when nothing has reset it for
// Soft, and again for Hard seconds.
type NewReminder struct {
	Text string  `json:"text"`
	From string  `json:"from,omitempty"`
	In   float64 `json:"in_seconds,omitempty"`
	Soft float64 `json:"soft_seconds,omitempty"`
	Hard float64 `json:"hard_seconds,omitempty"`
}

// Reminder is a reminder of an agent.
type Reminder struct {
	ID     string     `json:"id"`
	Agent  string     `json:"session"`
	From   string     `json:"from,omitempty"`
	Text   string     `json:"text"`
	MadeAt time.Time  `json:"made_at"`
	DueAt  *time.Time `json:"due_at"` // of a single reminder
	// State is ReminderHeld, or "" for a reminder whose time runs.
	State   string     `json:"state,omitempty"`
	Soft    float64    `json:"soft_seconds,omitempty"`
	Hard    float64    `json:"hard_seconds,omitempty"`
	ResetAt *time.Time `json:"reset_at"` // of a periodic reminder
}

// ReminderHeld marks a due reminder that waits while its agent compacts.
const ReminderHeld = "held"

// Reminders is a list of reminders.
type Reminders struct {
	Reminders []Reminder `json:"reminders"`
}

// Reset is the number of reminders that were reset.
type Reset struct {
	Reset int `json:"reset"`
}

// AlertsTaken is the answer of POST /alerts/webhook.
type AlertsTaken struct {
	Status string `json:"status"`
	// Alerts counts the alerts, Noticed those that led to a notice: an
	// alert of an unknown agent, a repeated or a resolved one does not.
	Alerts  int `json:"alerts"`
	Noticed int `json:"told"`
}
