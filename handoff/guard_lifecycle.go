package handoff

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Activation says who works in which session from now on.
type Activation struct {
	// Dir is the absolute path of the session's folder, which stands in a folder sessions.
	Dir, Skill string
	Client     GuardClient
	Now        time.Time
	// Alive says whether a process still runs that began at that time.
	Alive func(pid int, start string) bool
}

// Activated is what an activation has led to.
type Activated struct {
	State *GuardState
	// SetAside is where a damaged state file is now, "" for none.
	SetAside string
	// Full says that the session is still the one that has overflowed.
	Full bool
}

// Activate makes the session in a folder that of a client, and completes those that it had
// before: a client has one. It is fresh, and an overflow is over, when the client is in
// another session than the one that overflowed, or has been started to resume it.
func Activate(ctx context.Context, a Activation) (done Activated, err error) {
	if err := a.check(); err != nil {
		return done, err
	}
	if err := a.leaveOthers(ctx); err != nil {
		return done, err
	}
	path := filepath.Join(a.Dir, GuardFile)
	err = lockedGuard(ctx, path, func() error {
		s, err := ReadGuard(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s = new(GuardState)
		case errors.Is(err, ErrDamaged):
			s = new(GuardState)
			if done.SetAside, err = setAside(path, a.Now); err != nil {
				return err
			}
		case err != nil:
			return err
		}
		if a.taken(s) {
			return fmt.Errorf("%s is at work in process %d; end that client, or choose another session", a.Dir, s.PID)
		}
		done.Full = !s.activate(a)
		done.State = s
		return writeGuard(path, s)
	})
	return done, err
}

// check sees to it that the folder is one that is found again.
func (a *Activation) check() error {
	name := filepath.Base(a.Dir)
	if filepath.Base(filepath.Dir(a.Dir)) != GuardFolder || strings.HasPrefix(name, ".") {
		return fmt.Errorf("%s is no folder in %s; name it %s/NAME", a.Dir, GuardFolder, GuardFolder)
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
func (a *Activation) taken(s *GuardState) bool {
	return s.PID > 1 && s.PIDStart != "" && !a.Client.runs(s) && s.Lifecycle != SessionCompleted && a.Alive != nil && a.Alive(s.PID, s.PIDStart)
}

// leaveOthers ends the client's claim to other sessions beside this one. To leave a full
// one for another would be a way around the guard.
func (a *Activation) leaveOthers(ctx context.Context) error {
	var leave []string
	for path, s := range guardFiles([]string{filepath.Dir(filepath.Dir(a.Dir))}, a.Client) {
		if sameFile(filepath.Dir(path), a.Dir) || !a.Client.runs(s) {
			continue
		}
		if !s.fresh(a.Client) {
			return fmt.Errorf("%s has overflowed; hand it over with sm session dehydrate and sm session restart", filepath.Dir(path))
		}
		leave = append(leave, path)
	}
	for _, path := range leave {
		err := UpdateGuard(ctx, path, func(s *GuardState) error {
			if !a.Client.runs(s) {
				return errUnchanged
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

// fresh says whether an activation by this client ends an overflow.
func (s *GuardState) fresh(c GuardClient) bool {
	switch {
	case !s.Overflowed:
		return true
	case s.SessionID != "":
		return c.SessionID != "" && c.SessionID != s.SessionID
	}
	return s.Lifecycle == SessionRestarting || s.Lifecycle == SessionResuming
}

// activate says false for a session that stays full.
func (s *GuardState) activate(a Activation) bool {
	fresh := s.fresh(a.Client)
	same := a.Client.runs(s) && (a.Client.SessionID == "" || s.SessionID == "" || a.Client.is(s))
	if s.Skill != a.Skill {
		s.Skill, s.CurrentPhase = a.Skill, ""
	}
	s.PID, s.PIDStart = a.Client.PID, a.Client.Start
	if !fresh {
		if s.Lifecycle != SessionDehydrating {
			s.Lifecycle = SessionActive
		}
		return false
	}
	s.Lifecycle, s.Overflowed, s.KillRequested = SessionActive, false, false
	s.RestartPrompt, s.DehydratingSince = "", time.Time{}
	if !same {
		s.SessionID, s.ContextUsage, s.StartedAt = "", 0, time.Time{}
	}
	if s.StartedAt.IsZero() {
		s.StartedAt = second(a.Now)
	}
	return true
}

// release gives up a session for another one of the same client.
func (s *GuardState) release() {
	s.PID, s.PIDStart, s.SessionID, s.Lifecycle = 0, "", "", SessionCompleted
}

// Dehydrate asks for the session's document: from now on it must be newer than now.
func (s *GuardState) Dehydrate(now time.Time) {
	if s.Lifecycle != SessionDehydrating || s.DehydratingSince.IsZero() {
		s.Lifecycle, s.DehydratingSince = SessionDehydrating, second(now)
	}
}

// since is the time before which a document is of an earlier stretch of work.
func (s *GuardState) since() time.Time {
	if s.Lifecycle == SessionDehydrating && s.DehydratingSince.After(s.StartedAt) {
		return s.DehydratingSince
	}
	return s.StartedAt
}

// checkDocument says why a session cannot be continued from its document.
func checkDocument(dir string, since time.Time) error {
	path := filepath.Join(dir, GuardDocument)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not there; write it first, 'sm session dehydrate' says what belongs in it", path)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file; write it anew", path)
	case info.Size() == 0:
		return fmt.Errorf("%s is empty; write it first, 'sm session dehydrate' says what belongs in it", path)
	case info.ModTime().Before(since):
		return fmt.Errorf("%s is older than %s, so it is not about this work; write it anew", path, since.Local().Format("15:04:05"))
	}
	return nil
}

// AskRestart writes down that the client of the session in dir is to be ended and how a
// fresh one goes on, then lets ask tell the supervisor. Where that fails all is as before.
// It refuses without a document that is newer than the session, or than Dehydrate, and the
// session of another client.
func AskRestart(ctx context.Context, dir string, c GuardClient, ask func() error) error {
	path := filepath.Join(dir, GuardFile)
	return lockedGuard(ctx, path, func() error {
		s, err := ReadGuard(path)
		if err != nil {
			return err
		}
		if !s.BelongsTo(c) {
			return fmt.Errorf("%s is the session of another client; run 'sm session activate' first", dir)
		}
		if err := checkDocument(dir, s.since()); err != nil {
			return err
		}
		before := *s
		s.PID, s.PIDStart = c.PID, c.Start // of a resumed client; RestartPrompt looks for it
		if s.RestartPrompt == "" {
			s.RestartPrompt = s.continuation(dir)
		}
		s.KillRequested, s.Lifecycle = true, SessionRestarting
		if err := writeGuard(path, s); err != nil {
			return err
		}
		if err := ask(); err != nil {
			return errors.Join(err, writeGuard(path, &before))
		}
		return nil
	})
}

// continuation is what a fresh client is told, in one line.
func (s *GuardState) continuation(dir string) string {
	text := fmt.Sprintf("Read %s and continue the work that it describes. First run: sm session activate %s %s",
		filepath.Join(dir, GuardDocument), quoteWord(dir), quoteWord(word(s.Skill)))
	if phase := word(s.CurrentPhase); phase != "" {
		text += " (the phase is " + quoteWord(phase) + ")"
	}
	return text
}

// quoteWord writes a word for a shell, and for the eye.
func quoteWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// RestartPrompt finds what a fresh client is to be told after the end of the client that was
// process pid: the session in or above dir that names this very process and has asked for a
// restart. Another one that happens to be newer is somebody else's. stateFile is for Resumed.
func RestartPrompt(dir string, pid int, start string) (prompt, stateFile string, ok bool) {
	client := GuardClient{PID: pid, Start: start}
	var newest time.Time
	for path, s := range guardFiles([]string{dir}, client) {
		if client.runs(s) && s.KillRequested && s.RestartPrompt != "" && (!ok || s.StartedAt.After(newest)) {
			prompt, stateFile, ok, newest = s.RestartPrompt, path, true, s.StartedAt
		}
	}
	return prompt, stateFile, ok
}

// resumeWithin bounds the waiting for other writers of the file.
const resumeWithin = 5 * time.Second

// Resumed gives a session to the fresh client that was started for it: process pid that began
// at start. Its first status line will tell its session. A document of before now is spent.
func Resumed(stateFile string, pid int, start string) error {
	ctx, cancel := context.WithTimeout(context.Background(), resumeWithin)
	defer cancel()
	return UpdateGuard(ctx, stateFile, func(s *GuardState) error {
		s.resume(GuardClient{PID: pid, Start: start}, time.Now())
		return nil
	})
}

func (s *GuardState) resume(c GuardClient, now time.Time) {
	s.PID, s.PIDStart, s.SessionID = c.PID, c.Start, ""
	s.Lifecycle, s.KillRequested, s.Overflowed = SessionResuming, false, false
	s.ContextUsage, s.RestartPrompt, s.DehydratingSince, s.StartedAt = 0, "", time.Time{}, second(now)
}
