package tmux

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sm/handoff/proc"
)

// holds sends the server the check that it makes right before a paste.
func (r *rig) holds(v view) bool {
	r.t.Helper()
	const yes = "display-message -p yes"
	return r.tmux("if-shell", "-F", "-t", v.Pane.ID, v.guard(), yes) == "yes"
}

func TestVerify(t *testing.T) {
	t.Parallel()
	r := newRig(t, pace{})
	a := r.startWindow()
	verify := func(name string, p Pane, c Client, want Reason) {
		t.Helper()
		if err := r.Ready(
			t.Context(),
			p,
			c,
		); ReasonOf(err) != want ||
			(want == ReasonNone) != (err == nil) {
			t.Errorf("%s: Ready = %v, want %v", name, err, want)
		}
	}
	a.reaches(ReasonNone)
	verify(
		"the server's pid unknown",
		Pane{a.pane.Socket, 0, a.pane.ID},
		a.client,
		ReasonNone,
	)
	verify("another server", Pane{a.pane.Socket, 1, a.pane.ID}, a.client, ReasonServerChanged)
	verify("no such pane", Pane{a.pane.Socket, 0, "%999"}, a.client, ReasonGone)
	verify("started at another time", a.pane, Client{a.client.PID, "1"}, ReasonReused)
	verify("without a start time", a.pane, Client{PID: a.client.PID}, ReasonReused)
	self, err := proc.Stat("/proc", os.Getpid())
	noError(t, err)
	verify("a process elsewhere", a.pane, Client{os.Getpid(), self.Start}, ReasonReused)
	verify("no process", a.pane, Client{0, "1"}, ReasonGone)

	look := func() view {
		v, err := r.look(t.Context(), a.pane)
		noError(t, err)
		return v
	}
	for _, c := range []struct {
		on, off string // commands, without a pane
		want    Reason
	}{
		{"copy-mode", "copy-mode -q", ReasonMode},
		{"clock-mode", "copy-mode -q", ReasonMode},
		{"select-pane -d", "select-pane -e", ReasonInputOff},
		{"set -w synchronize-panes on", "set -w -u synchronize-panes", ReasonSynchronized},
	} {
		target := func(command string) []string {
			words := strings.Fields(command)
			return slices.Insert(words, 1, "-t", a.pane.ID)
		}
		a.reaches(ReasonNone)
		before := look()
		if !r.holds(before) {
			t.Fatalf("the guard does not hold: %s", before.guard())
		}
		r.tmux(target(c.on)...)
		if r.holds(before) {
			t.Errorf("%s: the guard holds", c.on)
		}
		verify(c.on, a.pane, a.client, c.want)
		if err := a.typed(testText); ReasonOf(err) != c.want || PastedIn(err) {
			t.Errorf("%s: Type = %v", c.on, err)
		}
		r.tmux(target(c.off)...)
	}
	a.untouched()
	r.noBuffers()

	for _, change := range [][]string{
		{"resize-window", "-x", "90", "-t", a.pane.ID},
		{"send-keys", "-l", "-t", a.pane.ID, "x"},
		{"respawn-pane", "-k", "-t", a.pane.ID, "cat"},
		{"kill-pane", "-t", a.pane.ID},
	} {
		var before view
		r.until("nothing changes", func() bool {
			before = look()
			return r.holds(before)
		})
		r.tmux(change...)
		r.until(change[0]+": the guard does not hold", func() bool { return !r.holds(before) })
	}
}

// TestShellInFront tests a client that is a shell's child: the shell is in front when it is
// suspended, in the background, or has ended.
func TestShellInFront(t *testing.T) {
	t.Parallel()
	r := newRig(t, pace{})
	a, argv := r.standIn()
	id := r.tmux("new-window", "-d", "-t", "keep:", "-P", "-F", "#{pane_id}", "sh", "-i")
	r.tmux("send-keys", "-t", id, strings.Join(argv, " "), "Enter")
	a.met(id)
	a.reaches(ReasonNone)
	noError(t, a.typed(testText))
	a.wait("submit", 1)

	refused := func(want Reason) {
		t.Helper()
		a.reaches(want)
		if err := a.typed(testText); ReasonOf(err) != want || PastedIn(err) {
			t.Errorf("Type = %v, want %v", err, want)
		}
	}
	signal := func(sig syscall.Signal) {
		t.Helper()
		noError(t, syscall.Kill(a.client.PID, sig))
	}
	signal(syscall.SIGSTOP)
	refused(ReasonStopped)
	r.until("the shell is in front", func() bool {
		p, err := proc.Stat("/proc", a.client.PID)
		return err == nil && p.Front != p.Group
	})
	signal(syscall.SIGCONT)
	refused(ReasonForeground)
	a.order("exit")
	refused(ReasonGone)
	if n := len(a.events("paste")); n != 1 {
		t.Errorf("%d pastes", n)
	}
	if screen := r.tmux(
		"capture-pane",
		"-p",
		"-t",
		a.pane.ID,
	); strings.Contains(
		screen,
		testText,
	) {
		t.Errorf("the shell got it: %s", screen)
	}
	r.noBuffers()
}

// TestHumanAtTheKeyboard tests a pane in an attached terminal with a recent key.
func TestHumanAtTheKeyboard(t *testing.T) {
	t.Parallel()
	r := newRig(t, pace{quiet: time.Hour})
	a := r.startWindow()
	b := r.startWindow()
	a.reaches(ReasonNone)
	b.reaches(ReasonNone)
	r.attach(a)
	a.reaches(ReasonTyping)
	if err := a.typed(testText); ReasonOf(err) != ReasonTyping {
		t.Errorf("Type = %v", err)
	}
	a.untouched()
	if err := b.typed(testText); err != nil { // its result is not checked
		t.Error(err)
	}
	r.tmux("detach-client", "-s", "keep")
	a.reaches(ReasonNone)
}

// TestUnseenKeys tests a key that the client has not drawn yet, which only tmux has recorded.
func TestUnseenKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, pace{quiet: time.Second})
	a := r.startWindow()
	outer := r.attach(a)
	a.reaches(ReasonNone) // no key was pressed for a second
	a.order("hold")
	press := func(key string) {
		outer.tmux("send-keys", "-l", key)
		r.until(
			"the client has the key",
			func() bool { return strings.HasSuffix(string(a.bytes()), key) },
		)
	}
	used := func() time.Time {
		v, err := r.look(t.Context(), a.pane)
		noError(t, err)
		return v.used
	}
	// Before the paste. The age of the key must not depend on the speed of the machine.
	before := used()
	err := a.typedAfter(testText, func(context.Context) error {
		press("x")
		if !used().After(before) {
			t.Error("tmux has not recorded the key")
		}
		r.quiet = time.Hour
		return nil
	})
	if ReasonOf(err) != ReasonTyping || PastedIn(err) {
		t.Errorf("Type = %v", err)
	}
	if n := len(a.events("paste")); n != 0 {
		t.Errorf("%d pastes", n)
	}
	// Before Enter.
	v, err := r.look(t.Context(), a.pane)
	noError(t, err)
	for time.Since(v.used) < time.Second { // the next key must be in another second
		if v, err = r.look(t.Context(), a.pane); err != nil {
			t.Fatal(err)
		}
	}
	press("y")
	if r.holds(v) {
		t.Error("the guard still holds after the key")
	}
	r.noBuffers()
}

func TestQuiet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		quiet, since time.Duration
		want         Reason
	}{
		{3 * time.Second, time.Second, ReasonTyping},
		{3 * time.Second, 10 * time.Second, ReasonNone},
		{-1, time.Second, ReasonNone},
		{3 * time.Second, -time.Hour, ReasonNone}, // the clock was set back
	} {
		s := &Server{quiet: c.quiet}
		if err := s.refuse(view{
			used: time.Now().Add(-c.since),
		}, ReasonNone); ReasonOf(err) != c.want {
			t.Errorf("refuse after %v of %v = %v", c.since, c.quiet, err)
		}
	}
}

// TestServerHangs tests that a server that does not answer costs the timeout, and does not
// count as gone.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	r := newRig(t, pace{timeout: 50 * time.Millisecond})
	a := r.startWindow()
	pid, err := strconv.Atoi(r.tmux("display-message", "-p", "#{pid}"))
	noError(t, err)
	noError(t, syscall.Kill(pid, syscall.SIGSTOP))
	err = a.typed(testText)
	noError(t, syscall.Kill(pid, syscall.SIGCONT))
	if ReasonOf(err) != ReasonUnknown || !errors.Is(err, errNoAnswer) || PastedIn(err) {
		t.Errorf("Type = %v", err)
	}
	a.untouched()
}

// attach attaches a terminal to a pane: a pane of another server.
func (r *rig) attach(a *agent) (outer *rig) {
	r.t.Helper()
	outer = newIdleRig(r.t, pace{})
	outer.tmux(
		"new-session",
		"-d",
		"-x",
		"80",
		"-y",
		"24",
		"env",
		"TMUX=",
		r.binary,
		"-u",
		"-S",
		r.socket,
		"attach",
		"-t",
		"keep:",
	)
	r.until("a terminal is attached", func() bool { return r.tmux("list-clients") != "" })
	r.tmux("select-window", "-t", a.pane.ID)
	return outer
}
