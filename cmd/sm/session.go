package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/internal/caller"
	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen/plain"
	"sm/handoff/files"
	"sm/handoff/guard"
	"sm/handoff/proc"
)

// guarded returns the run function of a command on the folder of a session. It
// waits at most 5 s for other writers of the session's state. Its errors end
// with the remedy.
func (env *environ) guarded(
	run func(ctx context.Context, dir string, args []string) error,
) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), 5*time.Second)
		defer cancel()
		dir, err := env.sessionDir(args)
		if err == nil {
			err = run(ctx, dir, args)
		}
		return sessionError(err)
	}
}

func newSessionCommand(env *environ) *cobra.Command {
	var pid int
	var force bool
	return command(`session activate|update|phase|dehydrate|restart
Manage guarded sessions

A guarded session has a folder in the project, sessions/NAME, with its state in .state.json and the document for a
fresh context in DEHYDRATED_CONTEXT.md. With guard.enabled, and hooks by 'sm install --guard', tool calls are refused
once the context is full, until the session has been handed over.

$ sm session activate sessions/build implement
$ sm session phase sessions/build "Phase 5: Build Loop"
`, nil, nil,
		command(`activate DIR SKILL
Activate a session for this client

Bind the session in the folder DIR, below a folder 'sessions', to the client that runs this command. Earlier sessions
of the client are marked as completed.

$ sm session activate sessions/build implement

--pid the client is the process <PID>, if it does not run this command itself
`, flags{
			"pid": &pid,
		}, env.guarded(func(ctx context.Context, dir string, args []string) error {
			return env.sessionActivate(ctx, dir, args[1], pid)
		})),
		command(`update DIR FIELD VALUE
Set a field of a session's state

Set a field of a session's state. While the session is full, the fields that identify it and mark it as full cannot
be set; a person can with --force, from a terminal.

$ sm session update sessions/build task "the parser"

--force set protected fields of a full session; not from within a client
`, flags{
			"force": &force,
		}, env.guarded(func(ctx context.Context, dir string, args []string) error {
			if force {
				if err := env.mayForce(); err != nil {
					return err
				}
			}
			return env.sessionUpdate(ctx, dir, args[1], args[2], force)
		})),
		command(`phase DIR PHASE
Set the phase of a session

$ sm session phase sessions/build "Phase 5: Build Loop"
`, nil, env.guarded(func(ctx context.Context, dir string, args []string) error {
			return env.sessionUpdate(ctx, dir, "currentPhase", args[1], false)
		})),
		command(`dehydrate [DIR]
Start the handover document of a session

$ sm session dehydrate
`, nil, env.guarded(env.sessionDehydrate)),
		command(`restart [DIR]
Restart this client with a fresh context

Ask 'sm run', which started this client, to end it and to start a fresh one that reads the session's document. The
document must have been written since 'sm session dehydrate', or since the session began.

$ sm session restart
`, nil, env.guarded(env.sessionRestart)),
	)
}

// sessionActivate binds a session to the client that runs this command, or to
// the client with the process id pid if that is not 0.
func (env *environ) sessionActivate(
	ctx context.Context,
	dir, skill string,
	pid int,
) error {
	client, proven := env.Client()
	if pid != 0 {
		p, err := proc.Stat("/proc", pid)
		if err != nil {
			return fmt.Errorf(
				"process %d: %v; give the pid of a client that runs",
				pid,
				files.Plain(err),
			)
		}
		client = guard.Client{
			SessionID: caller.SessionOf(pid, p.Start),
			PID:       pid,
			Start:     p.Start,
		}
		proven = client.SessionID != ""
	}
	if skill == "" {
		return usagef("SKILL is empty")
	}
	if client.PID == 0 {
		return absentf("no client runs this command; give it with --pid")
	}
	done, err := guard.Activate(ctx, guard.Activation{
		Dir:    dir,
		Skill:  skill,
		Client: client,
		Proven: proven,
		Now:    time.Now(),
		Dirs:   env.sessionDirs(),
		Alive:  proc.Alive,
	})
	if done.SetAside != "" {
		env.note("the damaged state is kept as %s", done.SetAside)
	}
	if err != nil {
		return err
	}
	if err := env.print("%s: active in process %d, skill %s", dir, client.PID, skill); err != nil {
		return err
	}
	if done.Full {
		return env.print("It has overflowed, and this is still the same session: hand it over with 'sm session dehydrate' and 'sm session restart'.")
	}
	return nil
}

// mayForce returns an error if this process may not set protected fields.
func (env *environ) mayForce() error {
	if sign, inside := env.Inside(); inside {
		return fmt.Errorf(
			"--force is for people, and %s says that a client runs this command; use a terminal of your own",
			sign,
		)
	}
	if !term.IsTerminal(env.Stdin) { // as in a process that its client no longer owns
		return errors.New("--force is for people, and standard input is no terminal; use a terminal of your own")
	}
	return nil
}

// sessionUpdate sets a field of a session's state.
func (env *environ) sessionUpdate(
	ctx context.Context,
	dir, field, value string,
	force bool,
) error {
	err := changeSession(ctx, dir, func(s *guard.State) error {
		return s.Set(field, value, time.Now(), force)
	})
	if err != nil {
		return err
	}
	return env.print("%s: %s is %s", dir, field, value)
}

func (env *environ) sessionDehydrate(ctx context.Context, dir string, _ []string) error {
	err := changeSession(ctx, dir, func(s *guard.State) error {
		s.Dehydrate(time.Now())
		return nil
	})
	if err != nil {
		return err
	}
	document := filepath.Join(dir, guard.DocumentFile)
	_, err = fmt.Fprintf(env.Stdout, dehydrateText, document, plain.ShellQuote(dir))
	return err
}

// dehydrateText explains the document to agents that do not have the skill.
const dehydrateText = `Write %[1]s now, in one go. A fresh context will have this file and nothing else:
- the goal, and what the user has asked for, word for word where it matters
- what is done, and how you know that it works
- what you were in the middle of, and the very next step
- files that matter, by path; commands that work; decisions, and what was tried in vain
- what is open: questions, failing tests, things not to touch
- the session: %[2]s
Then run: sm session restart %[2]s
`

func (env *environ) sessionRestart(ctx context.Context, dir string, _ []string) error {
	supervisor, err := env.Supervisor()
	if err != nil {
		return err
	}
	defer func() { _ = supervisor.Release() }()
	client, _ := env.Client()
	err = guard.AskRestart(ctx, dir, client, func() error {
		// Printed before the signal: this process ends with the client.
		_ = env.print("%s: restarting; a fresh context reads %s", dir, guard.DocumentFile)
		if err := supervisor.Signal(syscall.SIGUSR1); err != nil {
			return fmt.Errorf(
				"signal sm run, process %d: %w; start the client with 'sm run -- claude'",
				supervisor.Pid,
				err,
			)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return awaitRestart(ctx, dir, client)
}

// sessionDir returns the absolute path of a session's folder: that of the first
// argument, else that of the calling client's session. Links are not resolved,
// so that the path is the one that the user knows.
func (env *environ) sessionDir(args []string) (string, error) {
	// The skill passes its argument restart on to commands that need none.
	passed := len(args) == 1 && args[0] == "restart" && !files.IsDir(args[0])
	if len(args) > 0 && !passed {
		name := args[0]
		if name == "" {
			return "", usagef("DIR is empty")
		}
		if filepath.IsAbs(name) {
			return filepath.Clean(name), nil
		}
		dir, err := env.workDir()
		if err != nil {
			return "", fmt.Errorf("%s: %w; write an absolute path", plain.Line(name), err)
		}
		return filepath.Join(dir, name), nil
	}
	dirs := env.sessionDirs()
	client, _ := env.Client()
	path, _, ok := guard.Find(dirs, client)
	if !ok {
		return "", absentf(
			"no session of this client in %s or above; run 'sm session activate sessions/NAME SKILL' first, or name the folder",
			strings.Join(dirs, ", "),
		)
	}
	return filepath.Dir(path), nil
}

// sessionDirs returns the folders in and above which to look for the sessions
// of the calling client.
func (env *environ) sessionDirs() (dirs []string) {
	if project := env.Get("CLAUDE_PROJECT_DIR"); project != "" {
		dirs = append(dirs, project)
	}
	if wd, err := env.workDir(); err == nil {
		dirs = append(dirs, wd)
	}
	return dirs
}

func changeSession(ctx context.Context, dir string, change func(*guard.State) error) error {
	path := filepath.Join(dir, guard.StateFile)
	if _, err := os.Lstat(path); err != nil { // before a lock file is created there
		return err
	}
	return guard.Update(ctx, path, change)
}

// sessionError adds the remedy to an error.
func sessionError(err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, guard.ErrDamaged):
		return fmt.Errorf(
			"%w; 'sm session activate' keeps it under another name and makes a new one",
			err,
		)
	case errors.Is(err, fs.ErrNotExist) && errors.As(err, &path):
		return fmt.Errorf(
			"%s: no such session; run 'sm session activate DIR SKILL' first",
			filepath.Dir(path.Path),
		)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w; try again", err)
	case errors.As(err, &path):
		return fmt.Errorf("%w; check its owner and mode, and the free space", err)
	}
	return err
}

// awaitRestart waits until the supervisor begins to restart the client of a
// session. It returns an error if the supervisor refuses, and nil when ctx
// ends: a client may take longer to end than the agent waits here.
func awaitRestart(ctx context.Context, dir string, client guard.Client) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		s, err := guard.Read(filepath.Join(dir, guard.StateFile))
		switch {
		case err == nil && s.RestartRefused != "":
			return fmt.Errorf(
				"not restarted: %s; tell the user where the document is, and ask for a fresh session that reads it",
				plain.Line(s.RestartRefused),
			)
		case err == nil && !s.KillRequested, !proc.Alive(client.PID, client.Start):
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil
		}
	}
}
