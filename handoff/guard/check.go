package guard

import (
	"context"
	"path/filepath"
)

// ToolCall is a tool call of a client's main agent.
type ToolCall struct {
	Dirs   []string // folders of the client; sessions are searched in and above them
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

// Check decides about a tool call. Changes of the state are on disk when it
// returns. If they cannot be stored, it returns an error and the call is
// allowed: an agent whose calls are all refused while nothing can be written
// could not hand over either.
func (g *Guard) Check(ctx context.Context, call ToolCall) (j Decision, err error) {
	path, s, ok := Find(call.Dirs, call.Client)
	if !ok {
		return j, nil
	}
	j.Dir = filepath.Dir(path)
	usage := call.Usage(s)
	decide := func(s *State) (changed bool) {
		full := s.Overflowed
		changed = g.mark(s, call.Client, usage)
		j.State = s
		j.First = s.Overflowed && !full
		return s.Overflowed && s.follow(call) || changed
	}
	if decide(s) {
		err = Update(ctx, path, func(s *State) error {
			if !decide(s) {
				return errUnchanged
			}
			return nil
		})
		if err != nil {
			return Decision{}, err
		}
	}
	j.Refuse = j.State.Overflowed && !call.Exempt(j.Dir)
	return j, nil
}

// follow stores the process in which a session was resumed. The session would
// otherwise look abandoned, and another client might take it.
func (s *State) follow(call ToolCall) (changed bool) {
	c := call.Client
	if !c.is(s) || c.runs(s) || c.PID <= 1 ||
		s.PID > 1 && call.Alive(s.PID, s.PIDStart) {
		return false
	}
	s.PID = c.PID
	s.PIDStart = c.Start
	return true
}

// mark marks state s as full if a tool call of the main agent of client c shows
// that. usage is the used share of the window. changed means that the state has
// to be stored before the answer: the first call of a full session, even an
// exempt one, records the overflow and its session.
//
// Do not call mark for subagents. A subagent has a context of its own, and
// would lose its work; the next call of the agent that started it is refused
// anyway.
func (g *Guard) mark(s *State, c Client, usage float64) (changed bool) {
	if !s.Overflowed && (usage < g.Threshold || s.Lifecycle == SessionCompleted) {
		return false
	}
	// The call itself proves whose context is full, unlike a late report (see
	// Bind) and unlike a figure that was written into the file.
	if c.SessionID != "" && c.SessionID != s.SessionID &&
		(!s.Overflowed || s.SessionID == "") {
		s.SessionID = c.SessionID
		changed = true
	}
	changed = changed || !s.Overflowed
	s.Overflowed = true
	return changed
}
