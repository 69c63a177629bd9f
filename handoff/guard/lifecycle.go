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

// Activation assigns a session to a client.
type Activation struct {
	Dir    string // absolute path of the session's folder, in a folder sessions
	Skill  string
	Client Client
	// Proven means that the session of Client is from the client's own
	// registry, not only from a variable, which any caller can set.
	Proven bool
	Now    time.Time
	Dirs   []string                         // folders in and above which it has other sessions
	Alive  func(pid int, start string) bool // whether a process with that start time runs
}

// Activated is the result of an activation.
type Activated struct {
	SetAside string // the new path of a damaged state file, "" for none
	Full     bool   // the session has overflowed and was not renewed
}

// Activate assigns the session in a folder to a client and completes the
// client's other sessions. It ends an overflow if the client is proven to be in
// another session than the one that overflowed. If that session is unknown, a
// restart must have been requested and the process that overflowed must have
// ended.
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
				return fmt.Errorf("set aside %s: %w", path, err)
			}
			done.SetAside = filepath.Join(a.Dir, aside)
		case err != nil:
			return err
		}
		if s.PIDStart != "" && !a.Client.runs(s) && s.Lifecycle != SessionCompleted &&
			a.lives(s) {
			return fmt.Errorf(
				"%s is at work in process %d; end that client, or choose another session",
				a.Dir,
				s.PID,
			)
		}
		done.Full = !s.activate(&a)
		return writeGuard(root, path, s)
	})
	return done, err
}

// check creates the folder, which must be in a place where Find searches.
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

// lives reports whether the process of a session still runs.
func (a *Activation) lives(s *State) bool {
	return s.PID > 1 && a.Alive(s.PID, s.PIDStart)
}

// leaveOthers completes the client's other sessions and removes the client from
// them. Leaving a full session for another one would evade the guard, and is
// refused.
func (a *Activation) leaveOthers(ctx context.Context) error {
	dirs := append([]string{filepath.Dir(filepath.Dir(a.Dir))}, a.Dirs...)
	for path, s := range guardFiles(dirs, a.Client) {
		if files.Same(filepath.Dir(path), a.Dir) || !s.BelongsTo(a.Client) {
			continue
		}
		err := Update(ctx, path, func(s *State) error {
			switch {
			case !a.fresh(s):
				return fmt.Errorf(
					"%s has overflowed; hand it over with sm session dehydrate and sm session restart",
					filepath.Dir(path),
				)
			case !a.Client.runs(s) && (!a.Client.is(s) || a.lives(s)):
				return errUnchanged // not a session that the client had until now or has resumed
			}
			s.PID = 0
			s.PIDStart = ""
			s.SessionID = ""
			s.begin(SessionCompleted)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fresh reports whether the client is in another context than the one that
// overflowed. The fields that it compares were stored with the overflow;
// State.Set does not change them.
func (a *Activation) fresh(s *State) bool {
	switch {
	case !s.Overflowed:
		return true
	case s.SessionID != "":
		return a.Proven && a.Client.SessionID != "" && a.Client.SessionID != s.SessionID
	}
	return (s.Lifecycle == SessionRestarting || s.Lifecycle == SessionResuming) &&
		!a.Client.runs(s) &&
		!a.lives(s)
}

// activate assigns the session to the client. It returns false for a session
// that stays full.
func (s *State) activate(a *Activation) bool {
	fresh := a.fresh(s)
	same := a.Client.runs(s) &&
		(a.Client.SessionID == "" || s.SessionID == "" || a.Client.is(s))
	if s.Skill != a.Skill {
		s.Skill = a.Skill
		s.CurrentPhase = ""
	}
	if fresh || s.SessionID != "" { // otherwise only its process identifies a full session
		s.PID = a.Client.PID
		s.PIDStart = a.Client.Start
	}
	if !fresh {
		if s.Lifecycle != SessionDehydrating && !s.KillRequested {
			s.Lifecycle = SessionActive
		}
		return false
	}
	s.begin(SessionActive)
	if !same {
		s.renew(a.Client, a.Now)
	}
	if s.StartedAt.IsZero() {
		s.StartedAt = second(a.Now)
	}
	return true
}

// begin enters a stage in which the context is not full.
func (s *State) begin(l Lifecycle) {
	s.Lifecycle = l
	s.Overflowed = false
	s.KillRequested = false
	s.RestartPrompt = ""
	s.RestartRefused = ""
	s.DehydratingSince = time.Time{}
}
