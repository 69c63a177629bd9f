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
	// patience limits the duration of `sm hook` and `sm statusline`. With the
	// start of a process on a busy machine it stays below the promised 2 s.
	patience = 1700 * time.Millisecond
	// Work limits how long they wait for the observer.
	Work = 1500 * time.Millisecond
	// The client reports an error if all hooks of a SessionEnd take more than 1.5 s.
	sessionEndWork = time.Second
	// Codex ends hooks of SessionEnd and Interrupt one second after their start.
	codexEndWork = 700 * time.Millisecond
	// maxPayload limits the standard input that is kept, in bytes; the largest
	// payloads contain a tool's output.
	maxPayload = 16 << 20
)

// Hook runs `sm hook` with these arguments.
func (p *Process) Hook(ctx context.Context, args []string) {
	began := time.Now()
	p.within(ctx, soon, func(ctx context.Context) { p.hook(ctx, args, began) })
}

// hook reads one event from standard input and writes the answer to standard
// output.
func (p *Process) hook(ctx context.Context, args []string, began time.Time) {
	data := readObject(p.Stdin)
	decode := hook.Decode
	// sm install wrote the arguments. If they lack the client, the input decides,
	// since hooks may be copied between clients.
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

// readObject reads one JSON object and nothing after it: the sender may keep
// the pipe open. It reads an object larger than maxPayload to its end, so that
// the sender can finish, and returns nil.
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

// argument returns the value of an argument before any "--", the last one of
// several. ok is false if there is none.
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
