package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/config"
	"sm/dashboards/screen"
	"sm/deploy/install"
	"sm/handoff/guard"
	"sm/observer/api"
	"sm/transcript/claude/hook"
	"sm/transcript/clients"
	codexhook "sm/transcript/codex/hook"
)

const (
	// clientPatience is after when `sm hook` and `sm statusline` end, done or not, and clientWork what they have
	// for waiting. Together with the start of a process on a busy machine it stays below the 2 s that are promised.
	clientPatience = 1700 * time.Millisecond
	clientWork     = 1500 * time.Millisecond
	// All hooks of a SessionEnd together have 1.5 s before the client complains.
	sessionEndWork = time.Second
	// Codex ends a hook of that event, or of an interruption, after one second, with its start.
	codexEndWork = 700 * time.Millisecond
	// maxPayload bounds what is kept of standard input; the largest payloads hold a tool's output.
	maxPayload = 16 << 20
	// maxAnswer bounds the observer's answer: 9 500 characters, however they are spelled.
	maxAnswer = 128 << 10
)

func newHookCommand(env *environ) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Tell the observer what a hook of the client says; called by the client",
		Long: "Read a hook's JSON from standard input, hand it to the observer, and print what the observer wants the agent\n" +
			"to know. Without an observer it is silent. It always ends within 2 s, with exit code 0.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env.runHook(cmd.Context(), socketArgs(cmd))
			return nil
		},
	}
	cmd.Flags().String("client", "", "the client that calls: `C` is claude or codex; by what it says where that is left out")
	return cmd
}

// socketArgs gives back the flags that cobra has parsed. Only `sm --socket PATH hook` comes this way.
func socketArgs(cmd *cobra.Command) (args []string) {
	for _, name := range []string{"socket", "client"} {
		if f := cmd.Flag(name); f != nil && f.Changed {
			args = append(args, "--"+name, f.Value.String())
		}
	}
	return args
}

// asksForHelp tells a person from the client.
func asksForHelp(args []string) bool {
	return len(args) == 1 && slices.Contains([]string{"-h", "--help"}, args[0])
}

func (env *environ) runHook(ctx context.Context, args []string) int {
	began := time.Now()
	return within(ctx, func(ctx context.Context) { env.hook(ctx, args, began) })
}

// within does the work of a command that the client waits for, and says 0 when it is done, when it is late, and when
// it fails in whatever way: to the client, an exit code of 2 would mean that the agent must not go on.
func within(ctx context.Context, work func(context.Context)) int {
	asked := ctx.Done()
	ctx, cancel := context.WithTimeout(ctx, clientWork)
	defer cancel()
	// Without this the runtime ends a process whose standard output nobody reads any more, by a signal. Unlike one
	// that is ignored, a signal that is caught has its usual effect in the wrapped status line.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	done := quietly(func() { work(ctx) })
	select {
	case <-done:
		return exitDone
	case <-asked: // by a signal: the work may still end what it started
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(clientPatience - clientWork):
	}
	return exitDone
}

// quietly runs f beside the caller. A panic ends f and nothing else.
func quietly(f func()) (done <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = recover() }()
		f()
	}()
	return ended
}

// hook is one event from the client's standard input to the client's standard output.
func (env *environ) hook(ctx context.Context, args []string, began time.Time) {
	data := readObject(env.stdin)
	decode, codex := hook.Decode, ofCodex(args, data)
	if codex {
		decode = codexhook.Decode
	}
	p, err := decode(data)
	if err != nil {
		return
	}
	work := clientWork
	switch {
	case codex && (p.Event == hook.SessionEnd || p.Event == hook.Interrupt):
		work = codexEndWork
	case p.Event == hook.SessionEnd:
		work = sessionEndWork
	}
	ctx, cancel := context.WithTimeout(ctx, work)
	defer cancel()
	if codex {
		p.SM = env.caller().CodexOrigin(began, codexhook.IsSubagent(&p))
	} else {
		p.SM = env.caller().Origin(began)
	}
	answer, heard := post(ctx, clientSockets(env.lookupEnv, args), p.Encode(), true)
	if !heard && !codex {
		answer = env.fallbackGuard().refusal(&p)
	}
	if !p.Event.Answered() || len(answer) == 0 || answer[0] != '{' || !json.Valid(answer) {
		return
	}
	answer = nameProgram(env, answer)
	if codex {
		a, _ := hook.DecodeAnswer(answer) // what is no answer of ours says nothing
		answer = codexhook.Encode(a)
	}
	if len(answer) > 0 {
		_, _ = env.stdout.Write(append(answer, '\n'))
	}
}

// ofCodex says whether Codex calls this hook: by the arguments that `sm install` wrote, or by what it is told where they do
// not say, as when somebody has copied the hooks of another client.
func ofCodex(args []string, data []byte) bool {
	client, told := argument(args, "--client")
	return client == clients.Codex || !told && codexhook.Speaks(data)
}

// nameProgram has an answer name this program by its path where the agent's PATH does not lead to it. What is typed into
// panes does not come this way.
func nameProgram(env *environ, answer []byte) []byte {
	if !hook.CallsProgram(answer) {
		return answer
	}
	program, err := ownProgram(env)
	if err != nil {
		return answer
	}
	path, _ := env.lookupEnv("PATH")
	self, err := os.Stat(program)
	if found, foundErr := os.Stat(install.LookPath(path, "sm")); err != nil || foundErr == nil && os.SameFile(self, found) {
		return answer
	}
	return hook.NameProgram(answer, program)
}

// readObject reads one JSON object, and no further: the sender may keep the pipe open. One that is too large is read
// to its end, for the sender's sake, and is nothing.
func readObject(r io.Reader) []byte {
	var frame hook.Frame
	data, tooLarge := make([]byte, 0, 16<<10), false
	for {
		if len(data) == cap(data) {
			data = slices.Grow(data, len(data))
		}
		n, err := r.Read(data[len(data):cap(data)])
		n, done := frame.Feed(data[len(data) : len(data)+n])
		data = data[:len(data)+n]
		if len(data) > maxPayload {
			data, tooLarge = data[:0], true
		}
		switch {
		case !done && err == nil:
		case tooLarge:
			return nil
		default:
			return data
		}
	}
}

// clientSockets are the sockets to try. It goes past the configuration, which takes too long to load: `sm install`
// writes into the arguments what differs from the default.
func clientSockets(env config.Env, args []string) []string {
	c := new(config.Config)
	c.State, _ = env("SM_STATE")
	c.Socket, _ = env("SM_SOCKET")
	if value, ok := argument(args, "--socket"); ok {
		c.Socket = value
	}
	for _, path := range []*string{&c.State, &c.Socket} {
		expanded, err := env.ExpandHome(*path)
		if err != nil || !filepath.IsAbs(expanded) {
			expanded = ""
		}
		*path = expanded
	}
	paths, _ := c.SocketPaths(env) // none: no observer
	return paths
}

// argument is the value of an argument, the last of several; ok is false where there is none before a "--".
func argument(args []string, name string) (value string, ok bool) {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if v, is := strings.CutPrefix(arg, name+"="); is {
			value, ok = v, true
		} else if arg == name && i+1 < len(args) {
			value, ok = args[i+1], true
		}
	}
	return value, ok
}

// leave posts a body and waits for no answer: the kernel keeps what is sent until the observer takes it.
func leave(ctx context.Context, sockets []string, body []byte) {
	_, _ = post(ctx, sockets, body, false)
}

// post posts a body to the first observer that listens. Where it waits it returns the answer, and whether an observer has
// answered: an answer may be empty. It is HTTP by hand: one write, one read, no pool of connections and none of its
// goroutines.
func post(ctx context.Context, sockets []string, body []byte, wait bool) (answer []byte, heard bool) {
	conn, err := api.Dial(ctx, sockets)
	if err != nil {
		return nil, false // without an observer of ours there is nobody to tell
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline) // a connection that is closed fails below
	}
	// A signal must not wait for the observer.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var request bytes.Buffer
	request.WriteString("POST /hooks/claude HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n")
	request.WriteString("Content-Length: ")
	request.WriteString(strconv.Itoa(len(body)))
	request.WriteString("\r\n\r\n")
	request.Write(body)
	if _, err := conn.Write(request.Bytes()); err != nil || !wait {
		return nil, false
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode/100 != 2 {
		return nil, false
	}
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil || len(answer) > maxAnswer {
		return nil, false
	}
	return bytes.TrimSpace(answer), true
}

// A fallbackGuard answers for the guard when no observer does: by the state files alone, for loading the configuration
// takes too long.
type fallbackGuard struct{ guard.Guard }

func (env *environ) fallbackGuard() *fallbackGuard {
	program := ""
	if env.executable != nil {
		program, _ = env.executable() // else sm is known by its name alone
	}
	return &fallbackGuard{guard.Guard{Threshold: 1, Allow: []string{"Write", "Edit", "Read"}, Program: program}}
}

// refusal is the answer to a tool call: it is refused where the state file says that its session has overflowed, except
// for the tools that an agent needs to hand over. It decides nothing anew and writes nothing.
func (g *fallbackGuard) refusal(p *hook.Payload) []byte {
	if p.Event != hook.PreToolUse || p.Subagent() {
		return nil
	}
	path, s, ok := guard.Find([]string{p.SM.Project, p.CWD}, clientOf(p.SessionID, &p.SM))
	if !ok || !s.Overflowed {
		return nil
	}
	dir := filepath.Dir(path)
	if g.Exempt(dir, p) {
		return nil
	}
	return hook.Answer{Event: p.Event, Deny: g.Refusal(dir, s)}.Encode()
}

// overflowLine is what the status line shows of a full session, "" for no such session.
func (g *fallbackGuard) overflowLine(status *hook.Status) string {
	dirs := []string{status.SM.Project, status.ProjectDir, status.CurrentDir, status.CWD}
	path, s, ok := guard.Find(dirs, clientOf(status.SessionID, &status.SM))
	if !ok || !s.Overflowed {
		return ""
	}
	return screen.OneLine(g.Line(filepath.Base(filepath.Dir(path)), s))
}

func clientOf(session string, o *hook.Origin) guard.Client {
	return guard.Client{SessionID: session, PID: o.PID, Start: o.Start}
}
