package api

import (
	"context"
	"time"
)

// NewHandoff is the body of POST /sessions/{id}/handoff. An agent may only
// request its own handoff.
type NewHandoff struct {
	Requester string `json:"requester_session_id"`
	Path      string `json:"file_path"`
}

// Scheduled is the answer to NewHandoff: the handoff begins when the agent's
// turn ends.
type Scheduled struct {
	Status string `json:"status"` // scheduled
	ID     string `json:"id"`
}

// Handoff is one rotation of an agent's context.
type Handoff struct {
	ID    string `json:"id"`
	Agent string `json:"session"`
	// Path is the path of the document, "" while sm has not written an
	// automatic one.
	Path string `json:"file_path"`
	Auto bool   `json:"auto"`
	// State is scheduled, reserved, clearing, cleared, resuming, confirmed, failed or
	// cancelled.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"` // the reason that sm run reports
	// Waiting is why a scheduled handoff does not begin, such as draft or
	// dialog.
	Waiting     string    `json:"waiting,omitempty"`
	Way         string    `json:"way"` // clear, new, restart; none while unknown
	Document    string    `json:"document_id,omitempty"`
	SessionID   string    `json:"session_id"`
	NextSession string    `json:"next_session_id,omitempty"`
	MadeAt      time.Time `json:"made_at"`
	ChangedAt   time.Time `json:"changed_at"`
}

// Handoffs is the answer of GET /handoffs, the oldest first.
type Handoffs struct {
	Handoffs []Handoff `json:"handoffs"`
}

// Handoff schedules a handoff. If the observer refuses it, the error is a
// *StatusError with the reason.
func (c *Client) Handoff(ctx context.Context, id string, h NewHandoff) (Scheduled, error) {
	return answerOf[Scheduled](ctx, c, "POST /sessions/"+segment(id)+"/handoff", h)
}

// Handoffs returns all known handoffs.
func (c *Client) Handoffs(ctx context.Context) (Handoffs, error) {
	return answerOf[Handoffs](ctx, c, "GET /handoffs", nil)
}

// CancelHandoff cancels a handoff that has not begun.
func (c *Client) CancelHandoff(ctx context.Context, id string) (Handoff, error) {
	return answerOf[Handoff](ctx, c, "DELETE /handoffs/"+segment(id), nil)
}
