package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sm/deploy/install"
)

// measureHook measures what a client waits for at each tool call: the hook and
// the status line.
func (b *bench) measureHook(ctx context.Context) error {
	dir := filepath.Join(b.dir, "hooks")
	if _, err := crowd(dir, b.live, b.live); err != nil {
		return err
	}
	o, err := b.observe(ctx, dir)
	if err != nil {
		return err
	}

	agent := fmt.Sprintf(
		`{"session_id":%q,"transcript_path":"/x.jsonl","cwd":"/home/dev/proj",`,
		sessionID(0),
	)
	calls := []struct {
		name  string
		stdin string
		took  []time.Duration
	}{
		{name: "hook", stdin: agent + `"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"go test ./..."},` +
			`"tool_response":{"stdout":"` + strings.Repeat(
			`ok example.com/x 0.1s\n`,
			100,
		) + `"},"tool_use_id":"toolu_1"}`},
		{name: "statusline", stdin: agent + `"model":{"id":"claude-sonnet-4-5"},"version":"2.1.197","context_window":` +
			`{"total_input_tokens":33000,"total_output_tokens":12,"context_window_size":200000,"used_percentage":17}}`},
	}
	program := filepath.Join(filepath.Dir(b.sm), install.SmallName)
	for range 500 {
		for i := range calls {
			cmd := exec.CommandContext(ctx, program, calls[i].name, "--socket", o.socket)
			cmd.Env = []string{
				"PATH=" + os.Getenv("PATH"),
				"HOME=/nonexistent",
				"CLAUDE_SESSION_MANAGER_ID=bench",
			}
			cmd.Stdin = strings.NewReader(calls[i].stdin)
			start := time.Now()
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("%s %s: %w", install.SmallName, calls[i].name, err)
			}
			calls[i].took = append(calls[i].took, time.Since(start))
		}
	}

	for _, call := range calls {
		name := install.SmallName + " " + call.name
		b.figure(name+", p50", milliseconds(quantile(call.took, 0.5)), "")
		b.figure(name+", p99", milliseconds(quantile(call.took, 0.99)), "5 ms")
	}
	return o.stop()
}
