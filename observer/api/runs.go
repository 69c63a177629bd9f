package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// RunWait is the maximum time that the observer delays its answer to GET
// /runs/{id}/next while there is no instruction.
const RunWait = 25 * time.Second

// ActionRestart means to end the client and start it again with the
// instruction's prompt.
const ActionRestart = "restart"

// The outcomes of an instruction.
const (
	OutcomeRestarted = "restarted" // the new client runs, with the prompt
	OutcomeExhausted = "exhausted" // no restart is left; the client continues
	OutcomeRefused   = "refused"   // a restart is not possible, for the given reason; the client continues
	OutcomeFailed    = "failed"    // the client has ended, and none was started, for the given reason
)

// Run is the query of GET /runs/{id}/next: the report of `sm run` with each
// poll. It is the same in all versions: running agents keep their `sm run` when
// the observer is updated.
type Run struct {
	// Client is the pid of the running client, Start its start time in ticks
	// since boot as in /proc/PID/stat; 0 and "" without a client. Without
	// /proc, Start is "".
	Client int
	Start  string
	// RestartsLeft is how many restarts are left, for the agent and the user together.
	RestartsLeft int
	// CanRestart means that the client could be restarted now: restarts are
	// left, and its arguments allow one.
	CanRestart bool
	// Restarting is the rotation that is being executed: its client is ending, or has
	// ended and the next one has not started; "" for none. Older versions do not send it;
	// between two clients they have no Client either.
	Restarting string
	// Handled is the rotation of the last instruction that was handled, Outcome
	// its result, and Reason one line about why it was not executed. They are
	// repeated until a poll with them was answered.
	Handled, Outcome, Reason string
}

// Query returns the run as the query of a poll.
func (r Run) Query() url.Values {
	q := url.Values{
		"client": {strconv.Itoa(r.Client)}, "start": {r.Start},
		"restarts_left": {strconv.Itoa(r.RestartsLeft)}, "can_restart": {strconv.FormatBool(r.CanRestart)},
	}
	if r.Restarting != "" {
		q.Set("restarting", r.Restarting)
	}
	if r.Handled != "" {
		q.Set("handled", r.Handled)
		q.Set("outcome", r.Outcome)
		q.Set("reason", r.Reason)
	}
	return q
}

// ParseRun is the inverse of Query. Missing members are zero.
func ParseRun(q url.Values) (Run, error) {
	client, err1 := strconv.ParseUint(cmp.Or(q.Get("client"), "0"), 10, 31)
	left, err2 := strconv.ParseUint(cmp.Or(q.Get("restarts_left"), "0"), 10, 31)
	can, err3 := strconv.ParseBool(cmp.Or(q.Get("can_restart"), "false"))
	if err := errors.Join(err1, err2, err3); err != nil {
		return Run{}, fmt.Errorf("%w; give whole numbers from 0 on, and true or false", err)
	}
	r := Run{
		Client:       int(client),
		Start:        q.Get("start"),
		RestartsLeft: int(left),
		CanRestart:   can,
		Restarting:   q.Get("restarting"),
		Handled:      q.Get("handled"),
	}
	if r.Handled == "" {
		return r, nil
	}
	r.Outcome = q.Get("outcome")
	r.Reason = q.Get("reason")
	switch r.Outcome {
	case OutcomeRestarted, OutcomeExhausted, OutcomeRefused, OutcomeFailed:
		return r, nil
	}
	return Run{}, fmt.Errorf(
		"outcome is %q; give restarted, exhausted, refused or failed",
		r.Outcome,
	)
}

// Instruction is an instruction for `sm run`, the body of a 200. The same
// rotation is executed once, however often it is sent.
type Instruction struct {
	Rotation string `json:"rotation"`
	Action   string `json:"action"` // restart
	Prompt   string `json:"prompt"` // the first of the new client
}

// NextInstruction waits up to RunWait for an instruction for the run of an
// agent, and returns none after that. The error for an unknown agent is a
// *StatusError with code 404.
func (c *Client) NextInstruction(
	ctx context.Context,
	id string,
	r Run,
) (Instruction, error) {
	// The observer may delay the answer by RunWait.
	long := Client{http.Client{Transport: c.http.Transport, Timeout: RunWait + answerWithin}}
	return answerOf[Instruction](
		ctx, &long, "GET /runs/"+segment(id)+"/next?"+r.Query().Encode(), nil)
}
