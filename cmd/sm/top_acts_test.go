package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// works registers an agent that runs in a pane, as its hooks would.
func (p *topPane) works(n int, tmux string, server, pane string) {
	p.t.Helper()
	p.write(n, 50_000)
	id := fmt.Sprintf("%08d-1111-4111-8111-111111111111", n)
	cmd := p.daemon.command("hook")
	cmd.Env = append(
		cmd.Env,
		"TMUX="+tmux+","+server+",0",
		"TMUX_PANE="+pane,
		"SM_NAME=worker",
	)
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":%q,"hook_event_name":"SessionStart","source":"startup","cwd":"/home/dev/web","transcript_path":%q}`,
		id, filepath.Join(p.projects, "-home-dev-web", id+".jsonl")))
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
}

// TestTopActs tests that sm top in tmux sends what was confirmed, copies an id, shows an
// agent's handoffs, prints the address without a browser, and goes to an agent's pane: in the
// client that shows sm top, or in a new one.
func TestTopActs(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.start()
	p := newTopPane(t, d, 100, 30, "BROWSER=/nowhere/browser")
	p.do("set-option", "-s", "set-clipboard", "on")
	p.do("new-session", "-d", "-s", "work", "-x", "100", "-y", "30", "exec cat")
	field := func(target, name string) string {
		return strings.TrimSpace(p.do("display-message", "-p", "-t", target, name))
	}
	pane := field("work:", "#{pane_id}")
	p.works(1, p.tmux, field("work:", "#{pid}"), pane)
	p.shows(`^› web +worker`)

	p.do("send-keys", "-t", "0:", "s")
	p.shows(`^to worker: ▏`)
	p.do("send-keys", "-t", "0:", "Look at CI.", "Enter")
	p.shows(`^  Look at CI\.$`, `^send this to worker\?  y sends, esc leaves`)
	if list, err := d.api.Messages(t.Context(), ""); err != nil || len(list.Messages) != 0 {
		t.Errorf("before the yes: %+v, %v", list, err)
	}
	p.do("send-keys", "-t", "0:", "y")
	p.shows(`^queued for worker; it arrives at the end of its turn`)
	if list, err := d.api.Messages(
		t.Context(),
		"",
	); err != nil || len(list.Messages) != 1 ||
		list.Messages[0].Text != "Look at CI." {
		t.Errorf("after it: %+v, %v", list, err)
	}

	p.do("send-keys", "-t", "0:", "y")
	p.shows(`^on the clipboard: tmux-`)
	p.eventually("the clipboard", func() string {
		if out, err := p.command("show-buffer").Output(); err != nil ||
			!strings.HasPrefix(string(out), "tmux-") {
			return fmt.Sprintf("%q, %v", out, err)
		}
		return ""
	})
	p.do("send-keys", "-t", "0:", "h")
	p.shows(`^handoffs of worker`, `no handoff of the last day`, `no handoff document`)
	p.do("send-keys", "-t", "0:", "Escape")
	p.shows(`^› web +worker`)
	p.do("send-keys", "-t", "0:", "o")
	p.shows(`^no browser can be started here; 'sm open worker'`)

	// No terminal is attached: tmux has no client that could go to the pane.
	p.do("send-keys", "-t", "0:", "a")
	p.shows(`^tmux: no current client .*; 'tmux list-panes -a' lists all panes`)
	outer := &topPane{d, filepath.Join(d.dir, "outer")}
	t.Cleanup(func() { _ = outer.command("kill-server").Run() })
	outer.do(
		"new-session",
		"-d",
		"-x",
		"100",
		"-y",
		"30",
		"env",
		"-u",
		"TMUX",
		"tmux",
		"-u",
		"-S",
		p.tmux,
		"attach",
		"-t",
		"0",
	)
	outer.shows(`^› web +worker`)
	outer.do("send-keys", "a")
	p.eventually("the client at the agent's pane", func() string {
		return differs(
			"work",
			strings.TrimSpace(p.do("list-clients", "-F", "#{session_name}")),
		)
	})

	// In another server a new client shows the pane, and sm top is back when that ends.
	outer.do("new-window", "env", "HOME="+d.dir, "SM_SOCKET="+d.socket(), "sm", "top")
	outer.shows(`^sm top`, `^› web +worker`)
	outer.do("send-keys", "a")
	p.eventually("two clients at the agent's pane", func() string {
		return differs(
			"work work",
			strings.Join(strings.Fields(p.do("list-clients", "-F", "#{session_name}")), " "),
		)
	})
	p.do("detach-client", "-s", "work")
	outer.shows(`^sm top`, `^› web +worker`)
	if screen := p.do("capture-pane", "-p", "-t", pane); strings.TrimSpace(screen) != "" {
		t.Errorf("something was typed into the agent's pane:\n%s", screen)
	}
}

// differs describes the difference of two values, "" if they are equal.
func differs(want, got string) string {
	if got == want {
		return ""
	}
	return fmt.Sprintf("%q, want %q", got, want)
}
