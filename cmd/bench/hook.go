package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// hookRuns is how often each of the compared commands is called.
const hookRuns = 400

// hook measures what the client waits for: a hook and a status line, with an observer,
// against a shell script that posts the same with jq and curl, and with an observer that
// is stopped.
func (b *bench) hook(ctx context.Context) error {
	dir, state, err := b.place("hooks")
	if err != nil {
		return err
	}
	projects := filepath.Join(dir, "projects")
	if _, err := b.crowd(projects, b.live, b.live); err != nil {
		return err
	}
	o, err := b.observeTCP(ctx, projects, state)
	if err != nil {
		return err
	}
	if _, err := o.ready(ctx); err != nil {
		return err
	}
	calls := o.hookCalls(b.sm)
	took, err := timeCalls(ctx, calls, hookRuns)
	if err != nil {
		return err
	}
	for _, c := range calls {
		b.hookFigures(c.name, took[c.name])
	}
	if script := took[calls[2].name]; len(script) > 0 {
		b.figure("sm statusline, times faster than bash, jq and curl", fmt.Sprintf("%.1f x", script[len(script)/2].Seconds()/took[calls[1].name][hookRuns/2].Seconds()), "2 x", "–")
	}
	if err := o.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	stopped, err := timeCalls(ctx, calls[:2], b.runs)
	if err != nil {
		return err
	}
	b.figure("with a stopped observer, longest", slices.Max(slices.Concat(slices.Collect(maps.Values(stopped))...)).Round(time.Millisecond).String(), "2s", "–")
	return errors.Join(o.cmd.Process.Signal(syscall.SIGCONT), o.stop(), os.RemoveAll(dir))
}

// timeCalls makes each call a number of times, in turn, and gives how long each took, by the call's name.
func timeCalls(ctx context.Context, calls []hookCall, times int) (map[string][]time.Duration, error) {
	took := map[string][]time.Duration{}
	for range times {
		for _, c := range calls {
			d, err := c.time(ctx)
			if err != nil {
				return nil, err
			}
			took[c.name] = append(took[c.name], d)
		}
	}
	return took, nil
}

func (b *bench) hookFigures(name string, took []time.Duration) {
	slices.Sort(took)
	b.figure(name+", p50", took[len(took)/2].Round(10*time.Microsecond).String(), "", "")
	reach, stretch := "10ms", "5ms"
	if !strings.HasPrefix(name, "sm ") {
		reach, stretch = "", ""
	}
	b.figure(name+", p99", quantile(took, 0.99).Round(10*time.Microsecond).String(), reach, stretch)
}

// hookCall is one command that the client would call.
type hookCall struct {
	name  string
	argv  []string
	stdin string
	env   []string
}

func (c *hookCall) time(ctx context.Context) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Env, cmd.Stdin = c.env, strings.NewReader(c.stdin)
	start := time.Now()
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s: %w", c.name, err)
	}
	return time.Since(start), err
}

// statusScript is what one would write without sm: it takes the figures from the status
// line's JSON, posts them, and prints the percentage.
const statusScript = `IN=$(cat); P=$(jq -r '.context_window.used_percentage // 0' <<<"$IN"); T=$(jq -r '.context_window.total_input_tokens // 0' <<<"$IN")
S=$(jq -r '.context_window.context_window_size // 200000' <<<"$IN")
jq -n --arg id "$AGENT" --argjson p "$P" --argjson t "$T" --argjson s "$S" '{session_id: $id, used_percentage: $p, total_input_tokens: $t, context_window_size: $s}' |
	curl -s -o /dev/null -m 2 -H 'Content-Type: application/json' -d @- "http://$ADDR/hooks/context-usage"
echo "$P% ctx"`

// hookCalls are the compared commands; the script only where its tools are.
func (o *observer) hookCalls(sm string) []hookCall {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "CLAUDE_SESSION_MANAGER_ID=bench", "AGENT=bench", "ADDR=" + o.address}
	tool := fmt.Sprintf(`{"session_id":%q,"transcript_path":"/x.jsonl","cwd":"/home/dev/proj","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"go test ./..."},"tool_response":{"stdout":%q},"tool_use_id":"toolu_1"}`,
		sessionID(0), strings.Repeat("ok  	example.com/x	0.1s\n", 100))
	status := fmt.Sprintf(`{"session_id":%q,"transcript_path":"/x.jsonl","cwd":"/home/dev/proj","model":{"id":"claude-sonnet-4-5"},"version":"2.1.197","context_window":{"total_input_tokens":33000,"total_output_tokens":12,"context_window_size":200000,"current_usage":{"input_tokens":8,"output_tokens":12,"cache_creation_input_tokens":2000,"cache_read_input_tokens":30992},"used_percentage":17}}`, sessionID(0))
	calls := []hookCall{
		{"sm hook", []string{sm, "hook", "--socket", o.socket}, tool, env},
		{"sm statusline", []string{sm, "statusline", "--socket", o.socket}, status, env},
	}
	for _, name := range []string{"bash", "jq", "curl"} {
		if _, err := exec.LookPath(name); err != nil {
			return calls
		}
	}
	return append(calls, hookCall{"bash, jq and curl", []string{"bash", "-c", statusScript}, status, env})
}

// observeTCP starts an observer that scripts can reach, too.
func (b *bench) observeTCP(ctx context.Context, projects, state string) (*observer, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	o, err := b.observe(ctx, projects, state, "SM_LISTEN=["+`"`+address+`"`+"]")
	if err == nil {
		o.address = address
	}
	return o, err
}
