package observer

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Three scripts that a client calls, with curl and jq over TCP. PORT is the observer's.
const (
	statusScript = `#!/bin/sh
report=$(cat)
window() { printf '%s' "$report" | jq -c --arg id "$CLAUDE_SESSION_MANAGER_ID" "$1"; }
if [ -n "$CLAUDE_SESSION_MANAGER_ID" ] && [ "$(window '.context_window.used_percentage // 0')" != 0 ]; then
	body=$(window '.context_window | {session_id: $id, used_percentage, total_input_tokens, total_output_tokens, context_window_size}')
	curl --silent --max-time 0.5 -H 'Content-Type: application/json' --data "$body" http://localhost:PORT/hooks/context-usage >/dev/null 2>&1 &
fi
echo "$(window '.context_window.used_percentage // 0')% ctx"
`
	beforeScript = `#!/bin/sh
why=$(jq -r '.trigger // "unknown"')
[ -z "$CLAUDE_SESSION_MANAGER_ID" ] && exit 0
jq -n --arg id "$CLAUDE_SESSION_MANAGER_ID" --arg why "$why" '{session_id: $id, event: "compaction", trigger: $why}' |
	curl --silent --max-time 0.5 -H 'Content-Type: application/json' --data @- http://localhost:PORT/hooks/context-usage >/dev/null 2>&1
exit 0
`
	afterScript = `#!/bin/sh
cat >/dev/null
[ -z "$CLAUDE_SESSION_MANAGER_ID" ] && exit 0
document=$(curl --silent --max-time 2 "http://localhost:PORT/sessions/$CLAUDE_SESSION_MANAGER_ID" | jq -r '.last_handoff_path // empty')
if [ -f "$document" ]; then
	jq -n --rawfile text "$document" '{hookSpecificOutput: {hookEventName: "SessionStart", additionalContext: $text}}'
fi
jq -n --arg id "$CLAUDE_SESSION_MANAGER_ID" '{session_id: $id, event: "compaction_complete"}' |
	curl --silent --max-time 0.5 -H 'Content-Type: application/json' --data @- http://localhost:PORT/hooks/context-usage >/dev/null 2>&1
exit 0
`
)

// scripts runs the scripts against an observer.
type scripts struct {
	t     *testing.T
	dir   string
	port  int
	posts int // calls of curl so far
}

func newScripts(t *testing.T, port int) *scripts {
	for _, tool := range []string{"curl", "jq", "sh"} {
		_, err := exec.LookPath(tool)
		needs(t, "the program "+tool, err == nil)
	}
	s := &scripts{t: t, dir: t.TempDir(), port: port}
	// One of the scripts does not wait for curl. This one reports when it has ended.
	curl, err := exec.LookPath("curl")
	noErrors(
		t,
		err,
		os.WriteFile(
			filepath.Join(s.dir, "curl"),
			fmt.Appendf(
				nil,
				"#!/bin/sh\n%s \"$@\"\ncode=$?\necho >>%s/ended\nexit $code\n",
				curl,
				s.dir,
			),
			0o700,
		),
	)
	return s
}

// ended reports whether all posts have been answered, or have failed.
func (s *scripts) ended() bool {
	b, _ := os.ReadFile(filepath.Join(s.dir, "ended"))
	return bytes.Count(b, []byte("\n")) == s.posts
}

// run calls one of the scripts for the agent em as the client does; it must always succeed. It
// returns when all posts have ended.
func (s *scripts) run(r *rig, script, input string) (printed string) {
	s.t.Helper()
	if !strings.Contains(input, `"used_percentage":null`) {
		s.posts += strings.Count(script, "curl ")
	}
	path := filepath.Join(s.dir, "script.sh")
	noErrors(
		s.t,
		os.WriteFile(
			path,
			[]byte(strings.ReplaceAll(script, "PORT", strconv.Itoa(s.port))),
			0o700,
		),
	)
	cmd := exec.CommandContext(s.t.Context(), "sh", path)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "CLAUDE_") ||
			strings.Contains(strings.ToLower(v), "_proxy=")
	})
	cmd.Env = append(
		cmd.Env,
		"PATH="+s.dir+":"+os.Getenv("PATH"),
		"CLAUDE_SESSION_MANAGER_ID=em",
	)
	var out, odd bytes.Buffer
	cmd.Stdin = strings.NewReader(input)
	cmd.Stdout = &out
	cmd.Stderr = &odd
	if err := cmd.Run(); err != nil || odd.Len() > 0 {
		s.t.Fatalf("%v\n%s", err, odd.String())
	}
	r.until("the posts have ended", s.ended)
	return out.String()
}

// reported returns what the client pipes into its status line.
func reported(percentage string, tokens int) string {
	return fmt.Sprintf(`{"session_id":"abc123","context_window":{"total_input_tokens":%d,"total_output_tokens":4521,"context_window_size":200000,"used_percentage":%s,`+
		`"remaining_percentage":92,"current_usage":null},"model":{"id":"claude-opus-4-6","display_name":"Opus"}}`, tokens, percentage)
}

// TestNotices_Scripts tests that three scripts written for an earlier program work unchanged.
func TestNotices_Scripts(t *testing.T) {
	t.Parallel()
	r := newSeed(t)
	s := newScripts(t, r.tcp().Port)
	report := func(percentage string, tokens int, text string) func() bool {
		return func() bool { // repeated as by the client: a post may take too long
			if got := s.run(
				r,
				statusScript,
				reported(percentage, tokens),
			); got != text {
				t.Fatalf("status line: got %q, want %q", got, text)
			}
			x := r.session("em")
			return x.TokensUsed != nil && *x.TokensUsed == int64(tokens)
		}
	}
	s.run(r, statusScript, reported("null", 0))
	if x := r.session("em"); x.TokensUsed != nil {
		t.Errorf("after null: got %+v", x)
	}
	r.until("8% is known", report("8", 15_234, "8% ctx\n"))
	r.until("52% is known", report("52", 104_321, "52% ctx\n"))
	r.checkMail("at 52%", "em/1/warning waiting")
	r.until("66% is known", report("66", 132_100, "66% ctx\n"))
	r.until("it compacts", func() bool {
		s.run(
			r,
			beforeScript,
			`{"hook_event_name":"PreCompact","trigger":"auto","custom_instructions":"","session_id":"abc123"}`,
		)
		return r.session("em").IsCompacting
	})
	r.until("it has compacted", func() bool {
		if got := s.run(
			r,
			afterScript,
			`{"hook_event_name":"SessionStart","source":"compact","model":"claude-sonnet-4-6"}`,
		); got != "" {
			t.Fatalf("without a handoff the script printed %q", got)
		}
		return !r.session("em").IsCompacting
	})
	r.until("55% is known", report("55", 110_100, "55% ctx\n"))
	r.checkMail(
		"in the end",
		"em/1/warning withdrawn",
		"em/1/critical withdrawn",
		"em/2/compacted waiting to boss",
		"em/2/warning waiting",
	)
	if x := r.session("em"); x.Cycle != 2 {
		t.Errorf("got %+v", x)
	}
}
