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
)

// Dehydrate asks for the session's document: from now on it must be newer than now.
func (s *State) Dehydrate(now time.Time) {
	if s.Lifecycle != SessionDehydrating || s.DehydratingSince.IsZero() {
		s.Lifecycle, s.DehydratingSince = SessionDehydrating, second(now)
	}
}

// since is the time before which a document is of an earlier stretch of work.
func (s *State) since() time.Time {
	if s.Lifecycle == SessionDehydrating && s.DehydratingSince.After(s.StartedAt) {
		return s.DehydratingSince
	}
	return s.StartedAt
}

// checkDocument says why a session cannot be continued from its document.
func checkDocument(dir string, since time.Time) error {
	path := filepath.Join(dir, DocumentFile)
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
func AskRestart(ctx context.Context, dir string, c Client, ask func() error) error {
	path := filepath.Join(dir, StateFile)
	return lockedGuard(ctx, path, func(root *os.Root) error {
		s, err := Read(path)
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
		s.KillRequested, s.Lifecycle, s.RestartRefused = true, SessionRestarting, ""
		if err := writeGuard(root, path, s); err != nil {
			return err
		}
		if err := ask(); err != nil {
			return errors.Join(err, writeGuard(root, path, &before))
		}
		return nil
	})
}

// continuation is what a fresh client is told, in one line.
func (s *State) continuation(dir string) string {
	text := fmt.Sprintf("Read %s and continue the work that it describes. First run: sm session activate %s %s",
		filepath.Join(dir, DocumentFile), quoteWord(dir), quoteWord(word(s.Skill)))
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
	client := Client{PID: pid, Start: start}
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

// RestartRefused takes back what AskRestart has written for the client that was process pid:
// it goes on, since it is not restarted for the reason, one line. The session in or above dir
// waits for a restart once more, with the document that it has.
func RestartRefused(dir string, pid int, start, reason string) error {
	client := Client{PID: pid, Start: start}
	asked := func(s *State) bool { return client.runs(s) && s.KillRequested }
	ctx, cancel := context.WithTimeout(context.Background(), resumeWithin)
	defer cancel()
	var errs []error
	for path, s := range guardFiles([]string{dir}, client) {
		if !asked(s) {
			continue
		}
		errs = append(errs, Update(ctx, path, func(s *State) error {
			if !asked(s) {
				return errUnchanged
			}
			s.refuseRestart(filepath.Dir(path), reason)
			return nil
		}))
	}
	return errors.Join(errs...)
}

func (s *State) refuseRestart(dir, reason string) {
	s.KillRequested, s.RestartRefused = false, shown(reason, maxReason)
	if s.RestartPrompt == s.continuation(dir) { // or else somebody has written it
		s.RestartPrompt = ""
	}
	if s.Lifecycle != SessionRestarting {
		return
	}
	s.Lifecycle = SessionDehydrating
	if !s.Overflowed && s.DehydratingSince.IsZero() {
		s.Lifecycle = SessionActive // it never was
	}
}

// Resumed gives a session to the fresh client that was started for it: process pid that began
// at start. Its first status line will tell its session. A document of before now is spent.
// A session that is completed stays so.
func Resumed(stateFile string, pid int, start string) error {
	ctx, cancel := context.WithTimeout(context.Background(), resumeWithin)
	defer cancel()
	return Update(ctx, stateFile, func(s *State) error {
		if s.Lifecycle == SessionCompleted && !s.Overflowed {
			return errUnchanged
		}
		s.resume(Client{PID: pid, Start: start}, time.Now())
		return nil
	})
}

func (s *State) resume(c Client, now time.Time) {
	s.PID, s.PIDStart, s.SessionID = c.PID, c.Start, ""
	s.Lifecycle, s.KillRequested, s.Overflowed = SessionResuming, false, false
	s.ContextUsage, s.DehydratingSince, s.StartedAt = 0, time.Time{}, second(now)
	s.RestartPrompt, s.RestartRefused = "", ""
}
