package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"syscall"
	"time"

	"sm/dashboards/screen/plain"
	"sm/handoff/guard"
	"sm/handoff/proc"
	"sm/transcript/claude/hook"
)

const (
	// InsideStatusline is a variable that marks the process of a wrapped status
	// line. An sm statusline inside it does nothing.
	InsideStatusline = "SM_INSIDE_STATUSLINE"
	// sampleWork limits the request for the line of a guarded session. Without
	// an answer in time the percentage is printed.
	sampleWork = 300 * time.Millisecond
	// maxStatusline limits the output of a wrapped status line, in bytes.
	maxStatusline = 64 << 10
)

// Statusline runs `sm statusline` with these arguments.
func (p *Process) Statusline(ctx context.Context, args []string) {
	began := time.Now()
	from := soon
	command, _ := hook.WrappedCommand(args)
	if command != "" { // the command must end with this process
		from = 0
	}
	p.within(ctx, from, func(ctx context.Context) { p.statusline(ctx, args, command, began) })
}

func (p *Process) statusline(
	ctx context.Context,
	args []string,
	command string,
	began time.Time,
) {
	if _, inside := p.Env(InsideStatusline); inside {
		return
	}
	data := readObject(p.Stdin)
	report, err := hook.DecodeStatus(data)
	guarded := ""
	send := func() {
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, p.slower(sampleWork))
		defer cancel()
		report.SM = p.Origin(began)
		// Without the guard these folders rarely have a guarded session. Checking
		// them saves the wait for the observer.
		wait := guard.Any([]string{
			report.SM.Project,
			report.ProjectDir,
			report.CurrentDir,
			report.CWD,
		})
		answer, answered := Post(ctx, Sockets(p.Env, args), report.Encode(), wait)
		var a hook.StatusAnswer
		_ = json.Unmarshal(answer, &a) // without an observer there is no line
		guarded = plain.Line(a.Line)
		if wait && !answered {
			guarded = overflowLine(&report)
		}
	}
	others := ""
	if command == "" {
		quietly(send)
	} else {
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			quietly(send)
		}()
		others = p.wrapped(ctx, command, data)
		<-sent
	}
	line := "–% ctx"
	if percent, known := report.Percent(); known {
		line = fmt.Sprintf("%d%% ctx", percent)
	}
	if guarded != "" {
		line = guarded
	}
	if others != "" {
		line += " · " + others
	}
	write(p.Stdout, []byte(line+"\n"))
}

// wrapped runs the user's own status line in the same way as the client: with a
// shell and the same JSON. It is the user's setting, so it may be any shell
// text.
func (p *Process) wrapped(ctx context.Context, command string, stdin []byte) string {
	cmd := proc.Command(ctx, "/bin/sh", "-c", command)
	cmd.Env = append(p.Vars(), InsideStatusline+"=1")
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Stderr = p.Stderr
	out := &proc.Head{Left: maxStatusline}
	cmd.Stdout = out
	// Processes that the shell started end too, and SIGTERM lets them clean up.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	// A process in the background may keep the pipe open.
	cmd.WaitDelay = (patience - Work) / 2
	_ = cmd.Run() // the client shows the output of a failed command too
	return string(bytes.TrimRight(out.Kept, "\r\n"))
}
