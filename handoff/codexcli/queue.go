// Package codexcli has the parts of handoffs and messages that are specific to
// Codex CLI: its arguments, for clients that are started again, and its queue.
//
// [Add] adds a text to the queue that Codex CLI has for each thread, with the
// client's own command `codex queue`. The thread takes it as a prompt when it
// is idle. Nothing is typed, so that drafts and dialogs are not affected.
//
// Invariants: the text is one argument of a program that is run without a
// shell, for a limited time. A text that is or was in the queue is not added
// again: its id is searched in the queue's file, which is never written.
//
// The package does not know whether a thread is idle, nor whether it has taken
// a text.
package codexcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sm/handoff/files"
	"sm/handoff/proc"
)

const (
	within = 20 * time.Second // limits the command, which takes half a second on an idle machine
	kept   = 4 << 10          // how much of the command's output is kept
	quoted = 8                // output with so many bytes of the text counts as a quotation

	maxQueue = 256 << 20 // limits a file of the queue
)

// Add adds a text to the queue of a thread. home is the client's folder, and
// pid the process that has the thread open, 0 if unknown. id is part of this
// text only. If placed is false, the queue does not have the text; otherwise it
// may have it.
func Add(
	ctx context.Context,
	home string,
	pid int,
	thread, id, text string,
) (placed bool, err error) {
	if placed, err := Has(home, id); placed || err != nil {
		return placed, err
	}
	program, err := programOf("/proc", pid)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	cmd := proc.Command(ctx, program, "queue", "--thread", thread, "--message", text)
	cmd.Dir = home
	environ := slices.DeleteFunc(
		os.Environ(),
		func(v string) bool { return strings.HasPrefix(v, "CODEX_") },
	)
	cmd.Env = append(environ, "CODEX_HOME="+home)
	words := &proc.Head{Left: kept}
	cmd.Stdout = words
	cmd.Stderr = words
	if err = cmd.Run(); err == nil {
		return true, nil
	}
	err = fmt.Errorf("%s queue: %w: %s", program, err, withoutText(lastWords(words.Kept), text))
	if ctx.Err() == nil { // the client refused the text
		return false, err
	}
	placed, looked := Has(home, id)
	return placed || looked != nil, errors.Join(err, looked)
}

// programOf returns the program of a process in proc, which fits the thread,
// else the first codex in PATH.
func programOf(proc string, pid int) (string, error) {
	path, _ := os.Readlink(filepath.Join(proc, fmt.Sprint(pid), "exe"))
	if _, err := os.Stat(path); err == nil && filepath.Base(path) == "codex" {
		return path, nil
	}
	path, err := exec.LookPath("codex")
	if err != nil {
		return "", fmt.Errorf("find the client of Codex: %w; put codex into the PATH of sm observe", err)
	}
	return path, nil
}

// Has reports whether a text with that id is, or was, in a client's queue. The
// client stores the queue in a database whose file and journal contain texts
// unchanged, for a while also texts that were taken.
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
		text, err := files.Read(path, maxQueue)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // a journal comes and goes
			return false, fmt.Errorf("look into the queue of Codex: %w", err)
		}
		if bytes.Contains(text, mark) {
			return true, nil
		}
	}
	return false, nil
}

// lastWords returns the line in which the client explains an error.
func lastWords(text []byte) string {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(strings.ToLower(line), "error") {
			return line
		}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return first
}

// withoutText removes quotations of the text from the client's output, which is logged.
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
