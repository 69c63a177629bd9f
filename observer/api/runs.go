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

// RunWait is the longest that the observer may hold GET /runs/{id}/next back
// before it answers that there is nothing to do.
const RunWait = 25 * time.Second

// ActionRestart asks for the client to be ended and started again with the
// instruction's prompt.
const ActionRestart = "restart"

// The outcomes of an instruction.
const (
	OutcomeRestarted = "restarted" // the new client runs, with the prompt
	OutcomeExhausted = "exhausted" // no restart is left; the client goes on as before
	OutcomeRefused   = "refused"   // it may not be restarted, for the reason given; the client goes on as before
	OutcomeFailed    = "failed"    // the client was ended or is no more, and none followed, for the reason given
)

// Run is the query of GET /runs/{id}/next: what `sm run` reports with each poll. It is
// the same in all versions: agents that run keep their `sm run` when the observer is
// updated.
type Run struct {
	// Client is the pid of the client that runs now, Start when it began, in
	// ticks since the boot as in /proc/PID/stat; 0 and "" while none runs.
	// Where there is no /proc, Start is "".
	Client int
	Start  string
	// RestartsLeft is how many restarts are left, for the agent and the user together.
	RestartsLeft int
	// CanRestart means that the client could be restarted now: restarts are left, and
	// its arguments allow one.
	CanRestart bool
	// Restarting is the rotation that is being executed: its client is ending, or has
	// ended and the next one has not started; "" for none. Older versions do not send it;
	// between two clients they have no Client either.
	Restarting string
	// Handled is the rotation of the last instruction that was handled, Outcome its
	// result, and Reason one line about why it was not executed.
	// They are repeated until a poll with them was answered.
	Handled, Outcome, Reason string
}

// Query is the run as the query of its poll.
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

// ParseRun reads what Query makes. Members that are missing are zero.
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

// Instruction is what `sm run` is to do, the body of a 200. The same rotation
// is done once, however often it is sent.
type Instruction struct {
	Rotation string `json:"rotation"`
	Action   string `json:"action"` // restart
	Prompt   string `json:"prompt"` // the first of the new client
}

// NextInstruction waits for something to do for the run of an agent. After
// RunWait without any it returns none. An agent that the observer does not
// know is a *StatusError with code 404.
func (c *Client) NextInstruction(
	ctx context.Context,
	id string,
	r Run,
) (Instruction, error) {
	// As patient as the observer is slow to answer, on top of what it holds the answer back.
	long := Client{http.Client{Transport: c.http.Transport, Timeout: RunWait + answerWithin}}
	route := "GET /runs/" + segment(id) + "/next?" + r.Query().Encode()
	return answerOf[Instruction](ctx, &long, route, nil)
}
