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

	"sm/deploy/install"
)

// hookRuns is how often each of the compared commands is called.
const hookRuns = 500

// hook measures what the client waits for: a hook and a status line, with an observer, by the
// small program where it stands beside sm and by sm itself, against a shell script that posts the
// same with jq and curl, and with an observer that is stopped.
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
	if script := took[scriptName]; len(script) > 0 {
		faster := median(walls(script)).Seconds() / median(walls(took[calls[1].name])).Seconds()
		b.figure(calls[1].name+", times faster than "+scriptName, fmt.Sprintf("%.1f x", faster), "2 x", "–")
	}
	if err := o.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	ours := slices.DeleteFunc(calls, func(c hookCall) bool { return c.name == scriptName })
	stopped, err := timeCalls(ctx, ours, b.runs)
	if err != nil {
		return err
	}
	longest := slices.Max(walls(slices.Concat(slices.Collect(maps.Values(stopped))...)))
	b.figure("with a stopped observer, longest", longest.Round(time.Millisecond).String(), "2s", "–")
	return errors.Join(o.cmd.Process.Signal(syscall.SIGCONT), o.stop())
}

// timeCalls makes each call a number of times, in turn, and gives what each took, by the call's name.
func timeCalls(ctx context.Context, calls []hookCall, times int) (map[string][]cost, error) {
	took := map[string][]cost{}
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

// hookFigures prints what a command took: by the clock, which on a busy machine counts the others too, and of the CPU.
func (b *bench) hookFigures(name string, took []cost) {
	reach, stretch := "10ms", "5ms"
	if !strings.HasPrefix(name, "sm") {
		reach, stretch = "", ""
	}
	for _, of := range []string{"", " CPU"} {
		times := walls(took)
		if of != "" {
			times = cpus(took)
		}
		b.figure(name+","+of+" p50", median(times).Round(10*time.Microsecond).String(), "", "")
		b.figure(name+","+of+" p99", quantile(times, 0.99).Round(10*time.Microsecond).String(), reach, stretch)
	}
}

// walls are the times by the clock, sorted, and cpus those of the CPU.
func walls(all []cost) []time.Duration {
	return sorted(all, func(c cost) time.Duration { return c.wall })
}
func cpus(all []cost) []time.Duration {
	return sorted(all, func(c cost) time.Duration { return c.cpu })
}

func sorted(all []cost, of func(cost) time.Duration) (times []time.Duration) {
	for _, c := range all {
		times = append(times, of(c))
	}
	slices.Sort(times)
	return times
}

// hookCall is one command that the client would call.
type hookCall struct {
	name  string
	argv  []string
	stdin string
	env   []string
}

func (c *hookCall) time(ctx context.Context) (cost, error) {
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Env, cmd.Stdin = c.env, strings.NewReader(c.stdin)
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("%s: %w", c.name, err)
	}
	return cost{wall: time.Since(start), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

// scriptName is what the script needs.
const scriptName = "bash, jq and curl"

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
	var calls []hookCall
	for _, program := range []string{filepath.Join(filepath.Dir(sm), install.SmallName), sm} {
		if _, err := os.Stat(program); err != nil && program != sm {
			continue
		}
		name := filepath.Base(program)
		calls = append(calls, hookCall{name + " hook", []string{program, "hook", "--socket", o.socket}, tool, env},
			hookCall{name + " statusline", []string{program, "statusline", "--socket", o.socket}, status, env})
	}
	for _, name := range []string{"bash", "jq", "curl"} {
		if _, err := exec.LookPath(name); err != nil {
			return calls
		}
	}
	return append(calls, hookCall{scriptName, []string{"bash", "-c", statusScript}, status, env})
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
