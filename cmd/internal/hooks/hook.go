package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"time"

	"sm/transcript/claude/hook"
	"sm/transcript/codex/files"
	codexhook "sm/transcript/codex/hook"
)

const (
	// patience is after when `sm hook` and `sm statusline` end, done or not.
	// Together with the start of a process on a busy machine it stays below the
	// 2 s that are promised.
	patience = 1700 * time.Millisecond
	// Work limits how long they wait for the observer.
	Work = 1500 * time.Millisecond
	// All hooks of a SessionEnd together have 1.5 s before the client complains.
	sessionEndWork = time.Second
	// Codex ends a hook of that event, or of an interruption, after one second, with its start.
	codexEndWork = 700 * time.Millisecond
	// maxPayload is how much of standard input is kept; the largest payloads
	// contain a tool's output.
	maxPayload = 16 << 20
)

// Hook is `sm hook` with these arguments.
func (p *Process) Hook(ctx context.Context, args []string) {
	began := time.Now()
	p.within(ctx, soon, func(ctx context.Context) { p.hook(ctx, args, began) })
}

// hook is one event from the client's standard input to the client's standard output.
func (p *Process) hook(ctx context.Context, args []string, began time.Time) {
	data := readObject(p.Stdin)
	decode := hook.Decode
	// The arguments are those that sm install wrote. Without them the input decides, since hooks
	// may be copied between clients.
	client, given := argument(args, "--client")
	codex := client == files.Client || !given && codexhook.IsPayload(data)
	if codex {
		decode = codexhook.Decode
	}
	event, err := decode(data)
	if err != nil {
		return
	}
	work := Work
	switch {
	case codex && (event.Event == hook.SessionEnd || event.Event == hook.Interrupt):
		work = codexEndWork
	case event.Event == hook.SessionEnd:
		work = sessionEndWork
	}
	ctx, cancel := context.WithTimeout(ctx, p.slower(work))
	defer cancel()
	if codex {
		subagent := codexhook.IsSubagent(&event)
		event.SM = p.CodexOrigin(began, subagent, "/proc", os.Getppid())
		event.SM.Project = event.CWD // it stays, unlike that of Claude Code
	} else {
		event.SM = p.Origin(began)
	}
	answer, answered := Post(ctx, Sockets(p.Env, args), event.Encode(), true)
	if !answered && !codex {
		answer = p.refusal(&event)
	}
	if !event.Event.Answered() || len(answer) == 0 || answer[0] != '{' ||
		!json.Valid(answer) {
		return
	}
	answer = p.nameProgram(answer, codex)
	if codex {
		a, _ := hook.DecodeAnswer(answer) // any other text is an empty answer
		answer = codexhook.Encode(a)
	}
	if len(answer) > 0 {
		write(p.Stdout, append(answer, '\n'))
	}
}

// readObject reads one JSON object, and no further: the sender may keep the
// pipe open. One that is too large is read to its end, for the sender's sake,
// and is nothing.
func readObject(r io.Reader) []byte {
	var frame hook.Frame
	var data bytes.Buffer
	part := make([]byte, 16<<10)
	for done := false; !done; {
		n, err := r.Read(part)
		n, done = frame.Feed(part[:n])
		done = done || err != nil
		if data.Len() <= maxPayload {
			data.Write(part[:n])
		}
	}
	if data.Len() > maxPayload {
		return nil
	}
	return data.Bytes()
}

// argument is the value of an argument, the last of several; ok is false where
// there is none before a "--".
func argument(args []string, name string) (value string, ok bool) {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if v, is := strings.CutPrefix(arg, name+"="); is {
			value = v
			ok = true
		} else if arg == name && i+1 < len(args) {
			value = args[i+1]
			ok = true
		}
	}
	return value, ok
}
