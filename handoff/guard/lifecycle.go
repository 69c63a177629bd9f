package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sm/handoff/files"
)

// Activation says who works in which session from now on.
type Activation struct {
	// Dir is the absolute path of the session's folder, which stands in a folder sessions.
	Dir, Skill string
	Client     Client
	// Proven says that the session of Client is what the client itself says of its process, not only what a variable of
	// the caller says, which anybody sets.
	Proven bool
	Now    time.Time
	// Dirs are folders in and above which the client's other sessions are looked for, beside
	// those that stand where this one does.
	Dirs []string
	// Alive says whether a process still runs that began at that time.
	Alive func(pid int, start string) bool
}

// Activated is what an activation has led to.
type Activated struct {
	// SetAside is where a damaged state file is now, "" for none.
	SetAside string
	// Full says that this session has overflowed and has not been renewed.
	Full bool
}

// Activate makes the session in a folder that of a client, and completes those that it had
// before: a client has one. It is fresh, and an overflow is over, when the client is proven to be in
// another session than the session that overflowed. Where it is not known which session overflowed, it is fresh
// once a restart was asked for and the process that overflowed has ended.
func Activate(ctx context.Context, a Activation) (done Activated, err error) {
	if err := a.check(); err != nil {
		return done, err
	}
	if err := a.leaveOthers(ctx); err != nil {
		return done, err
	}
	path := filepath.Join(a.Dir, StateFile)
	err = lockedGuard(ctx, path, func(root *os.Root) error {
		s, err := Read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s = new(State)
		case errors.Is(err, ErrDamaged):
			s = new(State)
			aside, err := files.SetAside(root, filepath.Base(path), a.Now)
			if err != nil {
				return guardError("set aside", path, err)
			}
			done.SetAside = filepath.Join(a.Dir, aside)
		case err != nil:
			return err
		}
		if a.taken(s) {
			return fmt.Errorf("%s is at work in process %d; end that client, or choose another session", a.Dir, s.PID)
		}
		done.Full = !s.activate(&a)
		return writeGuard(root, path, s)
	})
	return done, err
}

// check sees to it that the folder is one that is found again.
func (a *Activation) check() error {
	name := filepath.Base(a.Dir)
	if filepath.Base(filepath.Dir(a.Dir)) != Folder || strings.HasPrefix(name, ".") {
		return fmt.Errorf("%s is no folder in %s; name it %s/NAME", a.Dir, Folder, Folder)
	}
	if err := os.MkdirAll(a.Dir, 0o755); err != nil {
		return err
	}
	info, err := os.Lstat(a.Dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is a link; give the folder itself", a.Dir)
	}
	return err
}

// taken says that another client is at work in the session.
func (a *Activation) taken(s *State) bool {
	return s.PIDStart != "" && !a.Client.runs(s) && s.Lifecycle != SessionCompleted && a.lives(s)
}

// lives says that the process of a session still runs.
func (a *Activation) lives(s *State) bool {
	return s.PID > 1 && a.Alive != nil && a.Alive(s.PID, s.PIDStart)
}

// leaves says that the client had a session until now.
func (a *Activation) leaves(s *State) bool {
	return a.Client.runs(s) || a.Client.is(s) && !a.lives(s) // or has resumed it
}

// leaveOthers ends the client's claim to other sessions beside this one. To leave a full
// one for another would be a way around the guard.
func (a *Activation) leaveOthers(ctx context.Context) error {
	var leave []string
	for path, s := range guardFiles(append([]string{filepath.Dir(filepath.Dir(a.Dir))}, a.Dirs...), a.Client) {
		if sameFile(filepath.Dir(path), a.Dir) || !s.BelongsTo(a.Client) {
			continue
		}
		if err := a.mayLeave(path, s); err != nil {
			return err
		}
		leave = append(leave, path)
	}
	for _, path := range leave {
		err := Update(ctx, path, func(s *State) error {
			if !a.leaves(s) {
				return errUnchanged
			}
			if err := a.mayLeave(path, s); err != nil { // by now
				return err
			}
			s.release()
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *Activation) mayLeave(path string, s *State) error {
	if !a.fresh(s) {
		return fmt.Errorf("%s has overflowed; hand it over with sm session dehydrate and sm session restart", filepath.Dir(path))
	}
	return nil
}

// fresh says whether the client is in another context than that which overflowed. What it
// compares has been stored with the overflow, and State.Set does not change it.
func (a *Activation) fresh(s *State) bool {
	switch {
	case !s.Overflowed:
		return true
	case s.SessionID != "":
		return a.Proven && a.Client.SessionID != "" && a.Client.SessionID != s.SessionID
	}
	return (s.Lifecycle == SessionRestarting || s.Lifecycle == SessionResuming) && !a.Client.runs(s) && !a.lives(s)
}

// activate says false for a session that stays full.
func (s *State) activate(a *Activation) bool {
	fresh := a.fresh(s)
	same := a.Client.runs(s) && (a.Client.SessionID == "" || s.SessionID == "" || a.Client.is(s))
	if s.Skill != a.Skill {
		s.Skill, s.CurrentPhase = a.Skill, ""
	}
	if fresh || s.SessionID != "" { // else its process is all that a full session is known by
		s.PID, s.PIDStart = a.Client.PID, a.Client.Start
	}
	if !fresh {
		if s.Lifecycle != SessionDehydrating && !s.KillRequested {
			s.Lifecycle = SessionActive
		}
		return false
	}
	s.Lifecycle, s.Overflowed, s.KillRequested = SessionActive, false, false
	s.RestartPrompt, s.RestartRefused, s.DehydratingSince = "", "", time.Time{}
	if !same {
		s.SessionID, s.ContextUsage, s.StartedAt = "", 0, time.Time{}
	}
	if s.StartedAt.IsZero() {
		s.StartedAt = second(a.Now)
	}
	return true
}

// release gives up a session for another one of the same client.
func (s *State) release() {
	s.PID, s.PIDStart, s.SessionID, s.Lifecycle = 0, "", "", SessionCompleted
	s.Overflowed, s.KillRequested, s.RestartPrompt, s.RestartRefused = false, false, "", ""
}
