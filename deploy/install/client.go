package install

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"sm/handoff/proc"
	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/claude/hook"
)

const (
	// ProgramPatience is how long a program may take to print its version.
	ProgramPatience = 10 * time.Second
	// clientPatience is the same for a client: old ones take 10 s on a busy machine.
	clientPatience = time.Minute
	// maxProgramOutput limits the output of a program that is kept.
	maxProgramOutput = 4 << 10
	// maxTranscripts limits how many transcripts are searched for a version.
	maxTranscripts = 20
	// tailSize is how much of the end of a transcript is read.
	tailSize = int64(256 << 10)
)

// A Client is a version of a client, and where it was found.
type Client struct {
	Version string
	By      string // the path of a program or a transcript
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
func ClientInPath(ctx context.Context, list string, environ []string) (c Client, ok bool, err error) {
	return inPath(ctx, list, environ, "claude", 0) // 2.1.197 (Claude Code)
}

// CodexInPath is [ClientInPath] for Codex.
func CodexInPath(ctx context.Context, list string, environ []string) (c Client, ok bool, err error) {
	return inPath(ctx, list, environ, "codex", 1) // codex-cli 0.169.0
}

// inPath runs a client with --version; word is the index of the version in its output.
func inPath(ctx context.Context, list string, environ []string, name string, word int) (c Client, ok bool, err error) {
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

// RunningClients returns the running clients of the registry in the client's folder,
// oldest version first.
func RunningClients(dir string) (all []Client) {
	paths, _ := filepath.Glob(filepath.Join(globQuote(dir), "sessions", "*.json")) // the pattern is valid
	for _, path := range paths {
		var c struct {
			PID     int    `json:"pid"`
			Version string `json:"version"`
			Start   string `json:"procStart"`
		}
		text, err := readHead(path, 64<<10)
		if err != nil || json.Unmarshal(text, &c) != nil {
			continue
		}
		if c.PID > 1 && hook.AtLeast(c.Version, 0) && proc.Alive(c.PID, c.Start) {
			all = append(all, Client{c.Version, path, c.PID})
		}
	}
	slices.SortStableFunc(all, byAge)
	return all
}

// byAge orders clients by version, oldest first.
func byAge(a, b Client) int {
	switch {
	case Older(a.Version, b.Version):
		return -1
	case Older(b.Version, a.Version):
		return 1
	}
	return 0
}

// TranscribedClient returns the client that wrote the newest transcript with a version.
func TranscribedClient(dir string) (c Client, ok bool) {
	paths, _ := filepath.Glob(filepath.Join(globQuote(dir), "projects", "*", "*.jsonl")) // the pattern is valid
	written := map[string]time.Time{}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			written[path] = info.ModTime()
		}
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return written[path].IsZero() })
	slices.SortStableFunc(paths, func(a, b string) int { return written[b].Compare(written[a]) })
	for _, path := range paths[:min(len(paths), maxTranscripts)] {
		if version := lastVersion(path); version != "" {
			return Client{Version: version, By: path}, true
		}
	}
	return c, false
}

// lastVersion returns the version of the last record with one, "" for none near the
// end of the file.
func lastVersion(path string) (version string) {
	var e transcript.Entry
	for line := range bytes.Lines(ReadTail(path)) {
		err := claude.Scan(bytes.TrimSuffix(line, []byte("\n")), &e)
		if err == nil && hook.AtLeast(string(e.Version), 0) {
			version = string(e.Version)
		}
	}
	return version
}

// ReadTail reads the end of a file, nothing of one that cannot be read.
func ReadTail(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailSize {
		_, _ = f.Seek(-tailSize, io.SeekEnd) // else it is read from its beginning
	}
	text, _ := io.ReadAll(io.LimitReader(f, tailSize))
	return text
}

// readHead reads the beginning of a file.
func readHead(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// globQuote returns a pattern that matches just the path.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// clientToInstallFor returns the version to write the settings for: the oldest of the
// client in the PATH and the running ones, as all read the same settings; else that
// of the newest transcript; else "" for a current one. It prints where there is a
// choice, and refuses a version that is too old.
func (in *installation) clientToInstallFor(ctx context.Context) (version string, err error) {
	dir := filepath.Dir(in.Settings)
	all := RunningClients(dir)
	c, ok, err := ClientInPath(ctx, in.Path, in.Environ)
	if err != nil {
		return "", err
	}
	if ok {
		all = slices.Insert(all, 0, c)
	} else if c, ok := TranscribedClient(dir); ok && len(all) == 0 {
		all = append(all, c)
	}
	if len(all) == 0 {
		_, err = fmt.Fprintf(in.Stderr, "sm: no version of the client is known from the PATH, running clients or transcripts: writing for %s and later\n",
			ArgsClient)
		return "", err
	}

	oldest := slices.MinFunc(all, byAge)
	if Older(oldest.Version, OldestClient) {
		remedy := "run claude update"
		if oldest.PID != 0 {
			remedy = fmt.Sprintf("end process %d, and run claude update if it was the newest you have", oldest.PID)
		}
		return "", fmt.Errorf("the client is %s, and its hooks do not work before %s; %s, then install again",
			oldest, OldestClient, remedy)
	}
	differs := func(c Client) bool { return TakesArgs(c.Version) != TakesArgs(oldest.Version) }
	if slices.ContainsFunc(all, differs) {
		_, err = fmt.Fprintf(in.Stderr, "sm: several versions of the client share these settings: writing for the oldest, %s; install again when it has ended\n",
			oldest)
	}
	return oldest.Version, err
}
