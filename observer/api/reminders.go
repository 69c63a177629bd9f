package api

import "time"

// NewReminder is the body of POST /sessions/{id}/reminders: one at a time, In seconds
// from now, or one that comes whenever nothing has reset it for Soft, and for Hard
// seconds.
type NewReminder struct {
	Text string  `json:"text"`
	From string  `json:"from,omitempty"`
	In   float64 `json:"in_seconds,omitempty"`
	Soft float64 `json:"soft_seconds,omitempty"`
	Hard float64 `json:"hard_seconds,omitempty"`
}

// Reminder is one that an agent has.
type Reminder struct {
	ID     string     `json:"id"`
	Agent  string     `json:"session"`
	From   string     `json:"from,omitempty"`
	Text   string     `json:"text"`
	MadeAt time.Time  `json:"made_at"`
	DueAt  *time.Time `json:"due_at"` // of one at a time
	// State is ReminderHeld, or "" for one whose time runs.
	State   string     `json:"state,omitempty"`
	Soft    float64    `json:"soft_seconds,omitempty"`
	Hard    float64    `json:"hard_seconds,omitempty"`
	ResetAt *time.Time `json:"reset_at"` // of a periodic one
}

// ReminderHeld marks a reminder that is due and is not said while its agent compacts.
const ReminderHeld = "held"

// Reminders is a list of them.
type Reminders struct {
	Reminders []Reminder `json:"reminders"`
}

// Reset says how many reminders begin anew.
type Reset struct {
	Reset int `json:"reset"`
}
