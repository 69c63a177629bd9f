package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// topPane is sm top in a pane of a private tmux server, with an observer.
type topPane struct {
	*daemon
	tmux string
}

// newTopPane starts sm top in tmux with these variables in its environment.
func newTopPane(t *testing.T, d *daemon, width, height int, vars ...string) *topPane {
	t.Helper()
	return newPane(t, d, width, height, append(vars, "sm", "top")...)
}

// newPane is newTopPane with the command at the end.
func newPane(t *testing.T, d *daemon, width, height int, command ...string) *topPane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no tmux: install it to test sm top on a real screen")
	}
	p := &topPane{d, filepath.Join(d.dir, "tmux")}
	t.Cleanup(func() { _ = p.command("kill-server").Run() })
	command = append(
		[]string{"env", "HOME=" + d.dir, "SM_SOCKET=" + d.socket(), "TZ=UTC"},
		command...,
	)
	// The pane stays after sm top has ended, to show what it leaves.
	shell := `sh -c 'echo $$ >"$0"; exec "$@"' "$@"; echo "ended with $?"; exec sleep 1000`
	p.do(append(
		[]string{
			"new-session",
			"-d",
			"-x",
			fmt.Sprint(width),
			"-y",
			fmt.Sprint(height),
			"sh",
			"-c",
			shell,
			"-",
			p.pid(),
		},
		command...,
	)...)
	return p
}

// pid is the file with the pid of sm top.
func (p *topPane) pid() string { return filepath.Join(p.dir, "pid") }

func (p *topPane) command(args ...string) *exec.Cmd {
	return exec.Command(
		"tmux",
		append([]string{"-u", "-S", p.tmux, "-f", "/dev/null"}, args...)...,
	)
}

func (p *topPane) do(args ...string) string {
	p.t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// shows waits until all patterns are on the screen, and returns it.
func (p *topPane) shows(patterns ...string) (screen string) {
	p.t.Helper()
	p.eventually("the screen", func() string {
		screen = p.do("capture-pane", "-p", "-t", "0:")
		for _, pattern := range patterns {
			if !regexp.MustCompile("(?m)" + pattern).MatchString(screen) {
				return "no " + pattern + " in\n" + screen
			}
		}
		return ""
	})
	return screen
}

// write gives a session a transcript with this number of tokens.
func (p *topPane) write(n, tokens int) {
	p.t.Helper()
	p.writeAt(n, tokens, time.Now())
}

func (p *topPane) writeAt(n, tokens int, when time.Time) {
	p.t.Helper()
	id := fmt.Sprintf("%08d-1111-4111-8111-111111111111", n)
	at := when.UTC().Format("2006-01-02T15:04:05.000Z")
	record := fmt.Sprintf(`{"type":"assistant","uuid":"a%d-%d","sessionId":%q,"cwd":"/home/dev/web","version":"2.1.197","timestamp":%q,`+
		`"message":{"id":"m%d-%d","model":"claude-sonnet-4-5","usage":{"input_tokens":%d,"output_tokens":1}}}`+"\n", n, tokens, id, at, n, tokens, tokens)
	dir := filepath.Join(p.projects, "-home-dev-web")
	err := os.MkdirAll(dir, 0o700)
	f, e := os.OpenFile(
		filepath.Join(dir, id+".jsonl"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY,
		0o600,
	)
	if err = errors.Join(err, e); err == nil {
		_, e = f.WriteString(record)
		err = errors.Join(e, f.Close(), os.Chtimes(f.Name(), when, when))
	}
	noErrors(p.t, err)
}

// TestTopOnARealScreen tests sm top in tmux, with an observer that is killed and started
// again.
func TestTopOnARealScreen(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ width, height int }{{80, 24}, {200, 50}} {
		t.Run(fmt.Sprintf("%dx%d", size.width, size.height), func(t *testing.T) {
			t.Parallel()
			d := newDaemon(t)
			writer := &topPane{daemon: d}
			for n := range 12 {
				writer.write(n, 10_000*(n+1))
			}
			writer.writeAt(99, 190_000, time.Now().Add(-3*time.Hour))
			d.start()
			p := newTopPane(t, d, size.width, size.height)
			p.shows(
				`^sm top  12 agents  \d+ (at work|idle)`,
				`^› web +00000011 .* 60% `,
				`^  web +00000000 .* 5% `,
				`^urgency ↓  1 not listed  \? help`,
			)

			// Changes are shown without a key.
			p.write(3, 150_000)
			screen := p.shows(`^  web +00000003 .* 75% `)
			if strings.Index(screen, "00000003") > strings.Index(screen, "00000011") {
				t.Errorf("the fullest is not first:\n%s", screen)
			}
			if (size.width == 200) != strings.Contains(screen, "MODEL") {
				t.Errorf("the wrong columns:\n%s", screen)
			}
			for line := range strings.Lines(screen) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > size.width {
					t.Errorf("%d characters: %s", n, line)
				}
			}

			p.do("send-keys", "n")
			p.shows(`^name ↓`, `^› web +00000011 `)
			p.do("send-keys", "g", "Down")
			p.shows(`^› web +00000001 `)
			p.do("send-keys", "/")
			p.shows(`^/▏  enter keeps, esc clears`)
			p.do("send-keys", "0000000", "4", "Enter")
			if screen := p.shows(
				`filter: 00000004`,
				`^› web +00000004 `,
			); strings.Contains(
				screen,
				"00000005",
			) {
				t.Errorf("the filter shows more:\n%s", screen)
			}
			p.do("send-keys", "Enter")
			p.shows(
				`^00000004  esc goes back`,
				`^  agent +00000004-1111-4111-8111-111111111111`,
				`^  context +50k tokens`,
			)
			p.do("send-keys", "Escape")
			p.shows(`^› web +00000004 `)
			p.do("send-keys", "Escape")
			p.shows(`^  web +00000005 `)
			p.do("send-keys", "?")
			p.shows(`any (other )?key goes back`)
			p.do("send-keys", "x")
			p.shows(`^› web +00000004 `)

			p.kill()
			gone := p.shows(
				`^observer gone since \d\d:\d\d:\d\d; these figures are from before`,
				`^› web +00000004 `,
			)
			p.start()
			p.write(4, 180_000)
			if screen := p.shows(`^› web +00000004 .* 90% `); strings.Contains(
				screen,
				"observer gone",
			) {
				t.Errorf("the observer is still shown as down, before\n%s\nnow\n%s", gone, screen)
			}

			p.do("resize-window", "-x", "50", "-y", "8")
			if screen := p.shows(
				`^name ↓  .*–\d+ of 12`,
				`^› 00000004 `,
			); strings.Count(screen, "\n") != 8 ||
				strings.Contains(screen, "CMP") {
				t.Errorf("after a resize:\n%s", screen)
			}
			p.do("resize-window", "-x", "160", "-y", "40")
			p.shows(`CYCLE`, `^› web +00000004 `, `^  web +00000000 `)

			p.do("send-keys", "q")
			if screen := p.shows(`^ended with 0`); strings.Contains(screen, "sm top") {
				t.Errorf("the screen is not restored:\n%s", screen)
			}
		})
	}
}
