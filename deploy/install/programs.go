package install

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sm/handoff/proc"
	"sm/transcript/claude/hook"
)

// Versions at which clients changed. `make versions` tries the real clients on both
// sides of each.
const (
	// OldestClient is the oldest version of Claude Code in which all hooks, the status
	// line and a handoff work. Before 2.1.76 an unknown event is an error dialog,
	// before 2.0.77 the client silently ignores the whole file.
	OldestClient = "2.1.120"
	// OldestCodex is the oldest version of Codex that runs hooks: before it the
	// feature codex_hooks is missing, or under development and off.
	OldestCodex = "0.124.0"
)

// HookEvents returns the events of Claude Code that the observer uses, and that of the
// guard.
func HookEvents(guard bool) []hook.Event {
	events := []hook.Event{
		hook.SessionStart, hook.SessionEnd, hook.UserPromptSubmit, hook.PostToolUse,
		hook.Stop, hook.PreCompact, hook.PostCompact, hook.Notification,
	}
	if guard {
		events = append(events, hook.PreToolUse)
	}
	return events
}

// CodexEvents returns the events of Codex that the observer uses. Those for each
// request and before each tool call would add nothing.
func CodexEvents() []hook.Event {
	return []hook.Event{
		hook.SessionStart, hook.SessionEnd, hook.UserPromptSubmit, hook.PostToolUse,
		hook.PostModelRequest, hook.PermissionRequest, hook.Stop, hook.Interrupt,
		hook.SubagentStart, hook.SubagentStop, hook.PreCompact, hook.PostCompact,
	}
}

// codexTimeout is how long Codex waits for a hook of ours, in seconds.
const codexTimeout = 5

// CodexMost returns how long client 0.169.0 waits for a hook without a timeout, in
// seconds. At the end of a session and after an interruption it never waits longer,
// and warns about a hook with a longer timeout.
func CodexMost(event hook.Event) int {
	if event == hook.SessionEnd || event == hook.Interrupt {
		return 1
	}
	return 600
}

// Older compares versions such as 2.1.197. An invalid one is older than any.
func Older(version, than string) bool {
	var numbers []int
	for part := range strings.SplitSeq(than, ".") {
		n, _ := strconv.Atoi(part) // it is valid
		numbers = append(numbers, n)
	}
	return !hook.AtLeast(version, numbers...)
}

const (
	// ProgramPatience is how long a program may take to print its version.
	ProgramPatience = 10 * time.Second
	// clientPatience is the same for a client: old ones take 10 s on a busy machine.
	clientPatience = time.Minute
	// maxProgramOutput limits the output of a program that is kept.
	maxProgramOutput = 4 << 10
)

// A Client is a version of a client, and where it was found.
type Client struct {
	Version string
	By      string // the path of a program
	PID     int    // of a running one
}

func (c Client) String() string {
	if c.PID != 0 {
		return fmt.Sprintf("%s, which runs as process %d", c.Version, c.PID)
	}
	return fmt.Sprintf("%s, by %s", c.Version, c.By)
}

// ClientInPath runs the Claude Code in this PATH for its version. ok is false if
// there is none, or if it prints no version; one that does not answer in time is an
// error.
func ClientInPath(
	ctx context.Context,
	list string,
	environ []string,
) (c Client, ok bool, err error) {
	return inPath(ctx, list, environ, "claude", 0) // 2.1.197 (Claude Code)
}

// CodexInPath is [ClientInPath] for Codex.
func CodexInPath(
	ctx context.Context,
	list string,
	environ []string,
) (c Client, ok bool, err error) {
	return inPath(ctx, list, environ, "codex", 1) // codex-cli 0.169.0
}

// inPath runs a client with --version; word is the index of the version in its output.
func inPath(
	ctx context.Context,
	list string,
	environ []string,
	name string,
	word int,
) (c Client, ok bool, err error) {
	path := proc.LookPath(list, name)
	if path == "" {
		return c, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, clientPatience)
	defer cancel()
	words := strings.Fields(Ask(ctx, environ, path, "--version"))
	if len(words) == 0 && ctx.Err() != nil {
		return c, false, fmt.Errorf("%s prints no version: %w; run %s --version, and try again when it does",
			path, ctx.Err(), name)
	}
	if len(words) <= word {
		return c, false, nil
	}
	return Client{Version: words[word], By: path}, hook.AtLeast(words[word], 0), nil
}

// Ask runs a program and returns the first line of its output, "" if it fails. The
// program has a process group of its own: its children end with it, and Ctrl-C ends
// sm alone, so that a program that was interrupted does not count as silent.
func Ask(ctx context.Context, environ []string, path string, args ...string) string {
	out := &proc.Head{Left: maxProgramOutput}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = environ
	cmd.Stdout = out
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Run(); err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out.Kept)), "\n")
	return line
}

// RunningClients returns the running clients of the registry in the client's folder.
func RunningClients(dir string) (all []Client) {
	entries, _ := os.ReadDir(filepath.Join(dir, "sessions")) // without it none is known
	for _, entry := range entries {
		var c struct {
			PID     int    `json:"pid"`
			Version string `json:"version"`
			Start   string `json:"procStart"`
		}
		path := filepath.Join(dir, "sessions", entry.Name())
		text, err := readHead(path, 64<<10)
		if err != nil || json.Unmarshal(text, &c) != nil {
			continue
		}
		if c.PID > 1 && hook.AtLeast(c.Version, 0) && proc.Alive(c.PID, c.Start) {
			all = append(all, Client{c.Version, path, c.PID})
		}
	}
	return all
}

// checkClients refuses clients that are too old: the one in the PATH, and those that
// run with these settings.
func (in *installation) checkClients(ctx context.Context) error {
	all := RunningClients(filepath.Dir(in.Settings))
	c, ok, err := ClientInPath(ctx, in.Path, in.Environ)
	if err != nil {
		return err
	}
	if ok {
		all = append(all, c)
	}
	for _, c := range all {
		if !Older(c.Version, OldestClient) {
			continue
		}
		remedy := "run claude update"
		if c.PID != 0 {
			remedy = fmt.Sprintf(
				"end process %d, and run claude update if it was the newest you have",
				c.PID,
			)
		}
		return fmt.Errorf("the client is %s, and its hooks do not work before %s; %s, then install again",
			c, OldestClient, remedy)
	}
	return nil
}

// SmallName is the name of the small program: it does what `sm hook` and `sm
// statusline` do, with the same arguments, and starts faster.
const SmallName = "sm-hook"

// Small returns the small program beside program, an sm of this version. path is ""
// if there is none, or if program has another name: hooks advise agents to call sm.
// One of another version belongs to another sm; its path is stale. It is an error if
// the version is not printed in time.
func Small(
	ctx context.Context,
	program, version string,
	environ []string,
) (path, stale string, err error) {
	path = filepath.Join(filepath.Dir(program), SmallName)
	if filepath.Base(program) != "sm" || !Runnable(path) {
		return "", "", nil
	}
	switch printed, err := SmallVersion(ctx, path, environ); {
	case err != nil:
		return "", "", err
	case printed != version:
		return "", path, nil
	}
	return path, "", nil
}

// Runnable reports whether a path is a program.
func Runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// SmallVersion runs a small program for its version, "" if it prints none.
func SmallVersion(
	ctx context.Context,
	path string,
	environ []string,
) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, ProgramPatience)
	defer cancel()
	if version = Ask(ctx, environ, path, "version"); version == "" && ctx.Err() != nil {
		return "", fmt.Errorf("%s prints no version: %w; try again, or replace it, for example with make install",
			path, ctx.Err())
	}
	return version, nil
}

// Around is what an installation depends on and does not change.
type Around struct {
	Temporary string // the folder for temporary files
	GuardOn   bool   // by the configuration
	Config    string // its file, "" for none
	Observer  bool   // one is running
}

// Notes returns what is left to do after an installation: hooks need a program that
// stays, an observer, and the guard its switch.
func (o Options) Notes(by Around) (notes []string) {
	called := cmp.Or(o.Small, o.Program)
	if where := PassingPlace(called, by.Temporary); where != "" {
		notes = append(notes, fmt.Sprintf("hooks now call %s, in %s: install sm where it stays, for example with 'make install', and run 'sm install' with that one",
			called, where))
	}
	if o.Guard && !by.GuardOn {
		notes = append(notes, "guard.enabled is off, so no tool call is judged: set it to true in "+
			cmp.Or(by.Config, "the configuration"))
	}
	if !by.Observer {
		notes = append(
			notes,
			"no observer is running, so agents are not warned: start one with 'sm observe', or at each login with 'sm service install'",
		)
	}
	return notes
}

// PassingPlace describes the place of a program that will not last: go's build cache,
// the folder for temporary files, or a checkout of sm, where 'make clean' removes it.
// It returns "" for any other place.
func PassingPlace(program, tmp string) string {
	paths := []string{program}
	if to, err := filepath.EvalSymlinks(program); err == nil {
		paths = append(paths, to)
	}
	for _, path := range paths {
		checkout := checkoutOf(filepath.Dir(path))
		switch {
		case strings.Contains(path, "/go-build"):
			return "go's build cache"
		case checkout != "":
			return "the checkout " + checkout
		case tmp != "" && strings.HasPrefix(path, filepath.Clean(tmp)+"/"):
			return "the temporary folder " + filepath.Clean(tmp)
		}
	}
	return ""
}

// checkoutOf returns the folder of sm's source that dir is or is in, "" for none.
func checkoutOf(dir string) string {
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		text, _ := os.ReadFile(filepath.Join(folder, "go.mod"))
		for line := range strings.Lines(string(text)) {
			if strings.TrimSpace(line) == "module sm" {
				return folder
			}
		}
	}
	return ""
}
