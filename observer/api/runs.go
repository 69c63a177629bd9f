package api

import (
	"context"
	"net/http"
	"time"
)

// RunWait is the longest that the observer may hold POST /runs/{id}/next back
// before it answers that there is nothing to do.
const RunWait = 25 * time.Second

// ActionRestart asks for the client to be ended and started again with the
// instruction's prompt.
const ActionRestart = "restart"

// What became of an instruction.
const (
	OutcomeRestarted = "restarted" // the new client runs, with the prompt
	OutcomeExhausted = "exhausted" // no restart is left; the client goes on as before
	OutcomeRefused   = "refused"   // it may not be restarted, for the reason given; the client goes on as before
	OutcomeFailed    = "failed"    // the client was ended or is no more, and none followed, for the reason given
)

// Run is the body of POST /runs/{id}/next: what `sm run` reports with each poll.
type Run struct {
	// Client is the pid of the client that runs now, Start when it began, in
	// ticks since the boot as in /proc/PID/stat; 0 and "" while none runs.
	// Where there is no /proc, Start is "".
	Client int    `json:"client"`
	Start  string `json:"start"`
	// RestartsLeft is how many restarts are left, for the agent and the user together.
	RestartsLeft int `json:"restarts_left"`
	// CanRestart means that the client could be restarted now: restarts are left, and
	// its arguments allow one.
	CanRestart bool `json:"can_restart"`
	// Restarting is the rotation that is being carried out: its client is being
	// ended, or has ended and the next one is not there yet; "" for none. Older
	// versions do not say so; between two clients they have no Client either.
	Restarting string `json:"restarting"`
	// Handled is the rotation of the last instruction that was dealt with,
	// Outcome what became of it, Reason in a line why it was not carried out.
	// They are repeated until a poll with them was answered.
	Handled string `json:"handled"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
}

// Instruction is what `sm run` is to do, the body of a 200. The same rotation
// is done once, however often it is sent.
type Instruction struct {
	Rotation string `json:"rotation"`
	Action   string `json:"action"` // restart
	Prompt   string `json:"prompt"` // the first of the new client
}

// NextInstruction waits for something to do for the run of an agent. After
// RunWait without any it returns false. An agent that the observer does not
// know is a *StatusError with code 404.
func (c *Client) NextInstruction(
	ctx context.Context,
	id string,
	r Run,
) (in Instruction, ok bool, err error) {
	// As patient as the observer is slow to answer, on top of what it holds the answer back.
	long := Client{http.Client{Transport: c.http.Transport, Timeout: RunWait + answerWithin}}
	err = long.ask(ctx, "POST /runs/"+segment(id)+"/next", r, &in)
	return in, err == nil && in.Rotation != "", err
}
