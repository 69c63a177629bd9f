package guard

import (
	"context"
	"path/filepath"
)

// ToolCall is a tool call of a client's main agent that is to be decided about.
type ToolCall struct {
	// Dirs are where the client works: its sessions are looked for there and above.
	Dirs   []string
	Client Client
	// Exempt is what [Guard.Exempt] says of the call and a session's folder.
	Exempt func(dir string) bool
	// Usage is the used share of the window, or UsageUnknown, beside what the state tells.
	Usage func(*State) float64
	// Alive says whether a process still runs that began at that time.
	Alive func(pid int, start string) bool
}

// Decision is what becomes of a tool call.
type Decision struct {
	Dir    string // of the client's session, "" for none: nothing is refused then
	State  *State
	Refuse bool
	First  bool // the session has turned out to be full just now
}

// Check says whether a tool call is to be made. What that changes is on disk when it returns:
// where it cannot be stored there is an error, and the call is to be made, for an agent that
// is refused everything while nothing can be written could not hand over either.
func (g *Guard) Check(ctx context.Context, call ToolCall) (j Decision, err error) {
	path, s, ok := Find(call.Dirs, call.Client)
	if !ok {
		return j, nil
	}
	j.Dir, j.State = filepath.Dir(path), s
	usage, exempt := call.Usage(s), call.Exempt(j.Dir)
	decide := func(s *State) (news bool) {
		before := s.Overflowed
		j.Refuse, news = g.Decide(s, call.Client, usage, exempt)
		j.First = s.Overflowed && !before
		return s.Overflowed && s.follow(call) || news
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

// follow takes in that a session goes on in another process, after a resume. Else it would
// look abandoned, and another client might take it.
func (s *State) follow(call ToolCall) (news bool) {
	c := call.Client
	if !c.is(s) || c.runs(s) || c.PID <= 1 || call.Alive == nil || s.PID > 1 && call.Alive(s.PID, s.PIDStart) {
		return false
	}
	s.PID, s.PIDStart = c.PID, c.Start
	return true
}

// Decide decides about a tool call of the main agent of client c, whose state s is. usage is the
// used share of the window, exempt what [Guard.Exempt] says of the call. refuse says that the
// call is not to be made; news that the state has changed, and has to be stored before the
// answer is given: from the first call of a full session on, an exempt one too, it says that
// the session has overflowed, and which one that is, whatever later readings tell.
//
// The calls of a subagent are not for Decide. It works in a context of its own, which neither
// the figure nor the document is about, and what it has in hand would be lost; the next call
// of the agent that started it is refused anyway.
func (g *Guard) Decide(s *State, c Client, usage float64, exempt bool) (refuse, news bool) {
	if !s.Overflowed && (usage < g.Threshold || s.Lifecycle == SessionCompleted) {
		return false, false
	}
	// The call itself shows whose context is full, so this is no late report (see Bind), and
	// what somebody has written there is not to decide later which session is another one.
	if c.SessionID != "" && c.SessionID != s.SessionID && (!s.Overflowed || s.SessionID == "") {
		s.SessionID, news = c.SessionID, true
	}
	news = news || !s.Overflowed
	s.Overflowed = true
	return !exempt, news
}
