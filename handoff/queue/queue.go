// Package queue gives texts to the queue that Codex CLI keeps for each of its threads, by the client's own command
// `codex queue`: the thread takes them as prompts when it is at rest. Nothing is typed, so that drafts and dialogs
// stay as they are.
//
// Invariants: the text is one argument of a program that is run without a shell, in a bounded time; a text that the queue
// has, or had, is not put there again. Whether it has is read off the queue's file, in which the text's id is looked for;
// nothing is ever written there.
//
// It does not know whether a thread is at rest, and whether it has taken a text: its transcript shows that.
package queue

import (
	"bytes"
	"context"
	"errors"
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
)

const (
	// within bounds the command: it takes half a second on an idle machine.
	within = 20 * time.Second
	// piece is how much of the queue's files is read at a time, and said what is kept of the command's words.
	piece = 256 << 10
	said  = 4 << 10
	// quoted is from how many bytes on the command's words count as a quotation of the text.
	quoted = 8
)

// Queue runs the command of the client.
type Queue struct {
	// Proc is where processes are listed, "" for nowhere; Look finds a program by its name, for clients whose own program
	// is not known.
	Proc string
	Look func(program string) (path string, err error)
	// Environ is that of the command, but for the client's home.
	Environ []string
}

// New is a Queue for this machine.
func New() *Queue { return &Queue{Proc: "/proc", Look: exec.LookPath, Environ: os.Environ()} }

// Add puts a text into the queue of a thread. home is the client's folder, pid the process that has the thread open, 0
// where that is not known; id stands in the text, and nowhere else. placed says that the queue may have got the text; with an
// error and without placed it has not.
func (q *Queue) Add(ctx context.Context, home string, pid int, thread, id, text string) (placed bool, err error) {
	if placed, err := Has(home, id); placed || err != nil {
		return placed, err
	}
	program, err := q.program(pid)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "queue", "--thread", thread, "--message", text)
	cmd.Dir, cmd.Env = home, append(withoutHome(q.Environ), "CODEX_HOME="+home)
	words := &proc.Head{Left: said}
	cmd.Stdout, cmd.Stderr = words, words
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err = cmd.Run(); err == nil {
		return true, nil
	}
	err = fmt.Errorf("%s queue: %w: %s", program, err, withoutText(lastWords(words.Kept), text))
	if ctx.Err() == nil { // it has said no
		return false, err
	}
	placed, looked := Has(home, id)
	return placed || looked != nil, errors.Join(err, looked)
}

// program is that of the process, which fits the thread, else the first in the PATH.
func (q *Queue) program(pid int) (string, error) {
	if q.Proc != "" && pid > 0 {
		path, err := os.Readlink(filepath.Join(q.Proc, fmt.Sprint(pid), "exe"))
		if _, gone := os.Stat(path); err == nil && gone == nil && filepath.Base(path) == "codex" {
			return path, nil
		}
	}
	path, err := q.Look("codex")
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", fmt.Errorf("find the client of Codex: %w; put codex into the PATH of sm observe", err)
	}
	return path, nil
}

// Has says whether a text with that id lies, or lay, in a client's queue. The client keeps it in a database, in whose
// file and journal a text stands as it is; the bytes of one that was taken stay for a while.
func Has(home, id string) (bool, error) {
	paths, err := filepath.Glob(filepath.Join(home, "queue_*.sqlite*"))
	if err != nil {
		return false, fmt.Errorf("find the queue of Codex: %w", err)
	}
	mark := []byte("#" + id)
	for _, path := range paths {
		if strings.HasSuffix(path, "-shm") {
			continue
		}
		found, err := contains(path, mark)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // a journal comes and goes
			return false, fmt.Errorf("look into the queue of Codex: %w", err)
		}
		if found {
			return true, nil
		}
	}
	return false, nil
}

// contains says whether a file holds the mark. It is read in pieces, however large it is.
func contains(path string, mark []byte) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // nothing waits for a pipe
	if err != nil {
		return false, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return false, err
	} else if !info.Mode().IsRegular() {
		return false, fmt.Errorf("%s is no file", path)
	}
	buffer := make([]byte, 0, piece)
	for {
		n, err := f.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		if bytes.Contains(buffer, mark) {
			return true, nil
		}
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		}
		kept := min(len(buffer), len(mark)-1) // the mark may go on in the next piece
		buffer = buffer[:copy(buffer, buffer[len(buffer)-kept:])]
	}
}

func withoutHome(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, "CODEX_") })
}

// lastWords is the line in which the client says what is wrong.
func lastWords(text []byte) string {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(strings.ToLower(line), "error") {
			return line
		}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return first
}

// withoutText cuts out of the client's words what they quote of the text: they go to the log.
func withoutText(words, text string) string {
	var kept strings.Builder
	for words != "" {
		n := 0
		for n < len(words) && strings.Contains(text, words[:n+1]) {
			n++
		}
		if n >= min(quoted, len(text)) {
			kept.WriteString("…")
		} else {
			n = 1
			kept.WriteString(words[:n])
		}
		words = words[n:]
	}
	return kept.String()
}
