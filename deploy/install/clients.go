package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sm/handoff/proc"
	"sm/transcript/claude"
	"sm/transcript/claude/hook"
	"sm/transcript/codex/files"
)

// A Client is a program whose hooks sm installs.
type Client struct {
	Name string // of the program
	// Oldest is the oldest version whose hooks work. `make versions` tries the real
	// clients on both sides of each.
	Oldest string
	Events []hook.Event // events that the observer uses
	more   bool         // Claude Code, which has a status line, plugins and skills
	update string       // advice how to update it
	done   string       // printed after an installation
}

// Claude describes Claude Code. Before 2.1.76 an unknown event is an error dialog,
// before 2.0.77 the client silently ignores the whole file.
func Claude() Client {
	return Client{
		Name:   "claude", // prints 2.1.197 (Claude Code)
		Oldest: "2.1.120",
		Events: []hook.Event{
			hook.SessionStart, hook.SessionEnd, hook.UserPromptSubmit, hook.PostToolUse,
			hook.Stop, hook.PreCompact, hook.PostCompact, hook.Notification,
		},
		more:   true,
		update: "run claude update",
		done:   "installed: takes effect at once, also in sessions that run",
	}
}

// Codex describes Codex. Before 0.124.0 its feature codex_hooks is missing, or under
// development and off. Hooks for each request and before each tool call would add
// nothing.
func Codex() Client {
	return Client{
		Name:   files.Client, // prints codex-cli 0.169.0
		Oldest: "0.124.0",
		Events: []hook.Event{
			hook.SessionStart, hook.SessionEnd, hook.UserPromptSubmit, hook.PostToolUse,
			hook.PostModelRequest, hook.PermissionRequest, hook.Stop, hook.Interrupt,
			hook.SubagentStart, hook.SubagentStop, hook.PreCompact, hook.PostCompact,
		},
		update: "update it",
		done: "installed, but Codex runs no hook that its user has not trusted: start codex and " +
			"choose \"Trust all and continue\", or type /hooks and t; codex exec does not ask",
	}
}

// CodexMost returns how many seconds client 0.169.0 waits for a hook without a
// timeout. At the end of a session and after an interruption this is also the
// maximum, and a hook with a longer timeout causes a warning.
func CodexMost(event hook.Event) int {
	if event == hook.SessionEnd || event == hook.Interrupt {
		return 1
	}
	return 600
}

const (
	// ProgramPatience is how long a program may take to print its version.
	ProgramPatience = 10 * time.Second
	// clientPatience is the same for a client: old ones take 10 s on a busy machine.
	clientPatience = time.Minute
	// maxProgramOutput limits the output of a program that is kept, in bytes.
	maxProgramOutput = 4 << 10
)

// Installed is a client that was found in the PATH or that is running.
type Installed struct {
	Version string
	By      string // the path of the program, or of its entry in the registry
	PID     int    // of a running client, else 0
}

func (c Installed) String() string {
	if c.PID != 0 {
		return fmt.Sprintf("%s, which runs as process %d", c.Version, c.PID)
	}
	return fmt.Sprintf("%s, by %s", c.Version, c.By)
}

// TooOld reports whether the hooks of a version do not work. An invalid version
// counts as older than any other.
func (c Client) TooOld(version string) bool {
	var major, minor, patch int
	_, _ = fmt.Sscanf(c.Oldest, "%d.%d.%d", &major, &minor, &patch) // it is valid
	return !hook.AtLeast(version, major, minor, patch)
}

// InPath runs the client in the PATH list and returns its version. found is
// zero if there is no client, or if it prints no version; an error means that
// it printed nothing in time.
func (c Client) InPath(
	ctx context.Context,
	list string,
	environ []string,
) (found Installed, err error) {
	path := proc.LookPath(list, c.Name)
	if path == "" {
		return found, nil
	}
	line, err := Ask(ctx, clientPatience, environ, path, "--version")
	for word := range strings.FieldsSeq(line) {
		if strings.Contains(word, ".") && hook.AtLeast(word, 0) {
			return Installed{Version: word, By: path}, nil
		}
	}
	return found, err
}

// Ask runs a program and returns the first line of its output, "" if it fails.
// It returns an error if the program does not end in time. Ctrl-C ends only sm,
// so that an interrupted program does not count as silent.
func Ask(
	ctx context.Context,
	patience time.Duration,
	environ []string,
	path string,
	arg string,
) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out := &proc.Head{Left: maxProgramOutput}
	cmd := proc.Command(ctx, path, arg)
	cmd.Env = environ
	cmd.Stdout = out
	switch err := cmd.Run(); {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s %s prints nothing: %w; see what it does, and try again",
			path, arg, ctx.Err())
	case err != nil:
		return "", nil
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out.Kept)), "\n")
	return line, nil
}

// RunningClients returns the running clients in the registry in a folder of
// Claude Code. Other clients have no registry.
func RunningClients(dir string) (all []Installed) {
	paths, _ := filepath.Glob(filepath.Join(dir, "sessions", "*"))
	registry := claude.Format().Registry
	for _, path := range paths {
		text, _ := os.ReadFile(path) // without a text it is not a client
		c, ok := registry.Read(path, text)
		if ok && c.PID > 1 && hook.AtLeast(c.Version, 0) && proc.Alive(c.PID, c.ProcStart) {
			all = append(all, Installed{c.Version, path, c.PID})
		}
	}
	return all
}

// checkVersions returns an error if a client is too old: the one in the PATH,
// or a running one with these settings.
func (in *installation) checkVersions(ctx context.Context) error {
	all := RunningClients(filepath.Dir(in.path))
	found, err := in.client.InPath(ctx, in.Path, in.Environ)
	if err != nil {
		return err
	}
	for _, c := range append(all, found) {
		if c.Version == "" || !in.client.TooOld(c.Version) {
			continue
		}
		remedy := in.client.update
		if c.PID != 0 {
			remedy = fmt.Sprintf("end process %d, and %s if it was the newest you have", c.PID,
				remedy)
		}
		return fmt.Errorf("%s is %s, and its hooks do not work before %s; %s, then install again",
			in.client.Name, c, in.client.Oldest, remedy)
	}
	return nil
}
