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

// Dehydrate requests the session's document. The document must be newer than
// the first request.
func (s *State) Dehydrate(now time.Time) {
	if s.Lifecycle != SessionDehydrating || s.DehydratingSince.IsZero() {
		s.Lifecycle = SessionDehydrating
		s.DehydratingSince = second(now)
	}
}

// since returns the time that the document must not precede, because an older
// one is about earlier work.
func (s *State) since() time.Time {
	if s.Lifecycle == SessionDehydrating && s.DehydratingSince.After(s.StartedAt) {
		return s.DehydratingSince
	}
	return s.StartedAt
}

// checkDocument returns an error if a session cannot be continued from its
// document.
func checkDocument(dir string, since time.Time) error {
	path := filepath.Join(dir, DocumentFile)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.Size() == 0:
		return fmt.Errorf(
			"%s is not there or empty; write it first, 'sm session dehydrate' says what belongs in it",
			path,
		)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file; write it anew", path)
	case info.ModTime().Before(since):
		return fmt.Errorf(
			"%s is older than %s, so it is not about this work; write it anew",
			path,
			since.Local().Format("15:04:05"),
		)
	}
	return nil
}

// AskRestart records that the client of the session in dir is to be ended, and
// the prompt of the next client, then calls ask, which signals the supervisor.
// If ask fails, the previous record is restored. AskRestart refuses the session
// of another client, and a document that is older than the session or than
// Dehydrate.
func AskRestart(ctx context.Context, dir string, c Client, ask func() error) error {
	path := filepath.Join(dir, StateFile)
	return lockedGuard(ctx, path, func(root *os.Root) error {
		s, err := Read(path)
		if err != nil {
			return err
		}
		if !s.BelongsTo(c) {
			return fmt.Errorf(
				"%s is the session of another client; run 'sm session activate' first",
				dir,
			)
		}
		if err := checkDocument(dir, s.since()); err != nil {
			return err
		}
		before := *s
		s.PID = c.PID // a resumed client has a new pid, for which RestartPrompt searches
		s.PIDStart = c.Start
		if s.RestartPrompt == "" {
			s.RestartPrompt = s.continuation(dir)
		}
		s.KillRequested = true
		s.Lifecycle = SessionRestarting
		s.RestartRefused = ""
		if err := writeGuard(root, path, s); err != nil {
			return err
		}
		if err := ask(); err != nil {
			return errors.Join(err, writeGuard(root, path, &before))
		}
		return nil
	})
}

// continuation returns the prompt of the fresh client, in one line.
func (s *State) continuation(dir string) string {
	text := fmt.Sprintf("Read %s and continue the work that it describes. First run: sm session activate %s %s",
		filepath.Join(dir, DocumentFile), quoteWord(dir), quoteWord(word(s.Skill)))
	if phase := word(s.CurrentPhase); phase != "" {
		text += " (the phase is " + quoteWord(phase) + ")"
	}
	return text
}

// quoteWord quotes a word for a shell if necessary.
func quoteWord(s string) string {
	if s != "" &&
		strings.Trim(
			s,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%",
		) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// RestartPrompt returns the prompt for the client after process pid, from its
// session in or above dir, if the session has requested a restart, else "".
func RestartPrompt(dir string, pid int, start string) string {
	_, s, ok := Find([]string{dir}, Client{PID: pid, Start: start})
	if !ok || !s.KillRequested {
		return ""
	}
	return s.RestartPrompt
}

// resumeWithin limits the wait for other writers of the file.
const resumeWithin = 5 * time.Second

// RestartRefused reverts the changes of AskRestart for the client with process
// pid, which continues for the given reason. The session can request a restart
// again with its present document.
func RestartRefused(dir string, pid int, start, reason string) error {
	client := Client{PID: pid, Start: start}
	path, _, ok := Find([]string{dir}, client)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), resumeWithin)
	defer cancel()
	return Update(ctx, path, func(s *State) error {
		if !client.runs(s) || !s.KillRequested {
			return errUnchanged
		}
		s.KillRequested = false
		s.RestartRefused = shown(reason, maxReason)
		if s.RestartPrompt == s.continuation(filepath.Dir(path)) { // otherwise the user has set it
			s.RestartPrompt = ""
		}
		if s.Lifecycle != SessionRestarting {
			return nil
		}
		s.Lifecycle = SessionDehydrating
		if !s.Overflowed && s.DehydratingSince.IsZero() {
			s.Lifecycle = SessionActive // it was not dehydrating
		}
		return nil
	})
}

// Resumed assigns a session to the fresh client that was started for it. The
// first status line of the client will report its session id. A completed
// session stays completed.
func Resumed(stateFile string, pid int, start string) error {
	ctx, cancel := context.WithTimeout(context.Background(), resumeWithin)
	defer cancel()
	return Update(ctx, stateFile, func(s *State) error {
		if s.Lifecycle == SessionCompleted && !s.Overflowed {
			return errUnchanged
		}
		s.begin(SessionResuming)
		s.renew(Client{PID: pid, Start: start}, time.Now())
		return nil
	})
}

// renew records that a client has a new context.
func (s *State) renew(c Client, now time.Time) {
	s.PID = c.PID
	s.PIDStart = c.Start
	s.SessionID = ""
	s.ContextUsage = 0
	s.StartedAt = second(now)
}
