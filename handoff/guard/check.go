package guard

import (
	"context"
	"path/filepath"
)

// ToolCall is a tool call of a client's main agent.
type ToolCall struct {
	Dirs   []string // where the client works; sessions are searched there and above
	Client Client
	Exempt func(dir string) bool            // [Guard.Exempt] for the call and a session's folder
	Usage  func(*State) float64             // used share of the window, or UsageUnknown
	Alive  func(pid int, start string) bool // whether a process with that start time runs
}

// Decision is the result of a check.
type Decision struct {
	Dir    string // of the client's session; without one nothing is refused
	State  *State
	Refuse bool
	First  bool // the session was not full before this call
}

// Check decides about a tool call. Changes of the state are on disk when it returns. If they
// cannot be stored it returns an error and the call is allowed: an agent that is refused
// everything while nothing can be written could not hand over either.
func (g *Guard) Check(ctx context.Context, call ToolCall) (j Decision, err error) {
	path, s, ok := Find(call.Dirs, call.Client)
	if !ok {
		return j, nil
	}
	j.Dir = filepath.Dir(path)
	j.State = s
	usage := call.Usage(s)
	exempt := call.Exempt(j.Dir)
	decide := func(s *State) (changed bool) {
		before := s.Overflowed
		j.Refuse, changed = g.Decide(s, call.Client, usage, exempt)
		j.First = s.Overflowed && !before
		return s.Overflowed && s.follow(call) || changed
	}
	if !decide(s) {
		return j, nil
	}
	err = Update(ctx, path, func(s *State) error {
		if j.State = s; !decide(s) {
			return errUnchanged
		}
		return nil
	})
	if err != nil {
		return Decision{Dir: j.Dir, State: s}, err
	}
	return j, nil
}

// follow stores the process in which a session was resumed. Otherwise it would look
// abandoned, and another client might take it.
func (s *State) follow(call ToolCall) (changed bool) {
	c := call.Client
	if !c.is(s) || c.runs(s) || c.PID <= 1 || call.Alive == nil ||
		s.PID > 1 && call.Alive(s.PID, s.PIDStart) {
		return false
	}
	s.PID = c.PID
	s.PIDStart = c.Start
	return true
}

// Decide decides about a tool call of the main agent of client c with state s. usage is the
// used share of the window, exempt the result of [Guard.Exempt]. changed means that the state
// has to be stored before the answer: the first call of a full session, even an exempt one,
// records the overflow and its session.
//
// Calls of subagents are not for Decide. A subagent has a context of its own, and would lose
// its work; the next call of the agent that started it is refused anyway.
func (g *Guard) Decide(
	s *State,
	c Client,
	usage float64,
	exempt bool,
) (refuse, changed bool) {
	if !s.Overflowed && (usage < g.Threshold || s.Lifecycle == SessionCompleted) {
		return false, false
	}
	// The call itself proves whose context is full, unlike a late report (see Bind) and
	// unlike a figure that was written into the file.
	if c.SessionID != "" && c.SessionID != s.SessionID &&
		(!s.Overflowed || s.SessionID == "") {
		s.SessionID = c.SessionID
		changed = true
	}
	changed = changed || !s.Overflowed
	s.Overflowed = true
	return !exempt, changed
}
