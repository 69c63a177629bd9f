package install

import (
	"bytes"
	"cmp"
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
	// ProgramPatience is how long another program may take to say its version, and clientStart how long the client: an
	// old one takes 10 s on a busy machine.
	ProgramPatience, clientStart = 10 * time.Second, time.Minute
	// maxProgramOutput is how much of what a program prints is kept.
	maxProgramOutput = 4 << 10
	// newestTranscripts is how many transcripts are searched for a version, versionTail how much of the end of each.
	newestTranscripts, versionTail = 20, int64(256 << 10)
)

// A Client is the version of a client, and who says so.
type Client struct {
	Version string
	By      string // a path
	PID     int    // of one that runs
}

func (c Client) String() string {
	if c.PID != 0 {
		return fmt.Sprintf("%s, which runs as process %d", c.Version, c.PID)
	}
	return fmt.Sprintf("%s, by %s", c.Version, c.By)
}

// ClientInPath asks the client in this PATH, with these variables. One that does not answer in time is an error: it may
// be too old.
func ClientInPath(ctx context.Context, list string, environ []string) (c Client, ok bool, err error) {
	path, line, err := versionLine(ctx, list, environ, "claude")
	if err != nil {
		return c, false, err
	}
	version, _, _ := strings.Cut(line, " ")
	return Client{Version: version, By: path}, hook.AtLeast(version, 0), nil
}

// CodexInPath returns the Codex in this PATH and its version. ok is false if there is none, or if its version cannot be
// read.
func CodexInPath(ctx context.Context, list string, environ []string) (c Client, ok bool, err error) {
	path, line, err := versionLine(ctx, list, environ, "codex")
	if err != nil {
		return c, false, err
	}
	_, version, _ := strings.Cut(line, " ") // codex-cli 0.169.0
	return Client{Version: version, By: path}, hook.AtLeast(version, 0), nil
}

// versionLine runs a client of that name with --version. path is empty if the PATH has none.
func versionLine(ctx context.Context, list string, environ []string, name string) (path, line string, err error) {
	path = proc.LookPath(list, name)
	if path == "" {
		return "", "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, clientStart)
	defer cancel()
	line = Ask(ctx, environ, path, "--version")
	if line == "" && ctx.Err() != nil {
		return "", "", fmt.Errorf("%s prints no version: %w; run %s --version, and try again when it does", path, ctx.Err(), name)
	}
	return path, line, nil
}

// Ask runs a program that says one line. The program has a process group of its own: what it started ends with it, and
// Ctrl-C ends us alone, so that a program that was interrupted is not taken for one that says nothing.
func Ask(ctx context.Context, environ []string, path string, args ...string) string {
	cmd := exec.CommandContext(ctx, path, args...)
	out := &proc.Head{Left: maxProgramOutput}
	cmd.Env, cmd.Stdout, cmd.WaitDelay = environ, out, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Run(); err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out.Kept)), "\n")
	return line
}

// RunningClients are those that the client's registry in its folder names and that still run, the oldest version first.
func RunningClients(dir string) (all []Client) {
	paths, _ := filepath.Glob(filepath.Join(globQuote(dir), "sessions", "*.json")) // the pattern is right
	for _, path := range paths {
		var c struct {
			PID     int    `json:"pid"`
			Version string `json:"version"`
			Start   string `json:"procStart"`
		}
		text, err := readHead(path, 64<<10)
		if err == nil && json.Unmarshal(text, &c) == nil && c.PID > 1 && hook.AtLeast(c.Version, 0) && proc.Alive(c.PID, c.Start) {
			all = append(all, Client{c.Version, path, c.PID})
		}
	}
	slices.SortStableFunc(all, byAge)
	return all
}

// byAge orders clients by their versions, the oldest first.
func byAge(a, b Client) int {
	switch {
	case Older(a.Version, b.Version):
		return -1
	case Older(b.Version, a.Version):
		return 1
	}
	return 0
}

// TranscribedClient is the client that wrote the newest transcript that names one.
func TranscribedClient(dir string) (c Client, ok bool) {
	type transcriptFile struct {
		path string
		at   time.Time
	}
	var files []transcriptFile
	paths, _ := filepath.Glob(filepath.Join(globQuote(dir), "projects", "*", "*.jsonl")) // the pattern is right
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			files = append(files, transcriptFile{path, info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b transcriptFile) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(a.path, b.path)) })
	for _, f := range files[:min(len(files), newestTranscripts)] {
		if version := lastVersion(f.path); version != "" {
			return Client{Version: version, By: f.path}, true
		}
	}
	return c, false
}

// lastVersion is the version that the last record with one names, "" for none near the end of the file.
func lastVersion(path string) (version string) {
	text := ReadTail(path)
	var e transcript.Entry
	for line := range bytes.Lines(text) {
		if claude.Scan(bytes.TrimSuffix(line, []byte("\n")), &e) == nil && hook.AtLeast(string(e.Version), 0) {
			version = string(e.Version)
		}
	}
	return version
}

// ReadTail reads the end of a file, as much as can be read.
func ReadTail(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > versionTail {
		_, _ = f.Seek(-versionTail, io.SeekEnd) // else it is read from its beginning
	}
	text, _ := io.ReadAll(io.LimitReader(f, versionTail))
	return text
}

// readHead reads the beginning of a file.
func readHead(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// globQuote makes a path a pattern for itself.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// clientToInstallFor decides for which version the settings are to be written: the oldest of the client in
// the PATH and those that run, for all of them read the same settings; else that of the newest transcript; else "", a
// current one. It says so where there is a choice, and refuses a version that is too old.
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
		_, err = fmt.Fprintf(in.Stderr, "sm: no client in the PATH or running says its version, and no transcript does: writing for %s and later\n", ArgsClient)
		return "", err
	}
	oldest := slices.MinFunc(all, byAge)
	if Older(oldest.Version, OldestClient) {
		remedy := "run claude update"
		if oldest.PID != 0 {
			remedy = fmt.Sprintf("end process %d, and run claude update if it was the newest you have", oldest.PID)
		}
		return "", fmt.Errorf("the client is %s, and its hooks do not work before %s; %s, then install again", oldest, OldestClient, remedy)
	}
	if len(all) > 1 && slices.ContainsFunc(all, func(c Client) bool { return TakesArgs(c.Version) != TakesArgs(oldest.Version) }) {
		_, err = fmt.Fprintf(in.Stderr, "sm: several versions of the client share these settings: writing for the oldest, %s; install again when it has ended\n", oldest)
	}
	return oldest.Version, err
}
