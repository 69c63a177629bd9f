package observer

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sm/handoff/guard"
)

// The figure is the transcript's, and the state file's where that is newer or alone.
func TestGuardUsage(t *testing.T) {
	checkAppLeaks(t)
	g := newGuarded(t)
	g.write(g.session, reply(ago(20*time.Second), "m1", 100_000, 10))
	g.start()
	g.activate()
	at := func(usage string, before time.Duration) {
		g.update("contextUsage", usage)
		g.update("lastHeartbeat", time.Now().Add(-before).UTC().Format(time.RFC3339))
	}
	at("0.9", time.Minute)
	g.refused("an old figure", false)
	g.write(g.session, reply(ago(10*time.Second), "m2", 160_000, 10))
	g.until("the reading", func() bool { s := g.rig.session(g.session); return s.TokensUsed != nil && *s.TokensUsed == 160_000 })
	at("0.5", 5*time.Second)
	g.refused("a new figure", false)
	at("0.5", time.Minute)
	g.refused("the transcript", true)
	g.stop()
}

// What the state file told before a compaction is not the context after it.
func TestGuardUsageAfterCompaction(t *testing.T) {
	checkAppLeaks(t)
	g := newGuarded(t)
	g.write(g.session, reply(ago(20*time.Second), "m1", 100_000, 10))
	g.start()
	g.activate()
	g.refused("to be known by a hook", false)
	g.update("contextUsage", "0.9")
	g.update("lastHeartbeat", time.Now().Add(-15*time.Second).UTC().Format(time.RFC3339))
	g.write(g.session, boundary(ago(10*time.Second), "b1", "auto", 180_000))
	g.until("the compaction", func() bool { s := g.rig.session(g.session); return s.Cycle == 2 && s.TokensUsed == nil })
	g.refused("unknown after a compaction", false)
	g.update("contextUsage", "0.9")
	g.refused("told after it", true)
	g.stop()
}

// The first refusal is of the session: it is known by that from then on, without a status line.
func TestGuardBindsByRefusal(t *testing.T) {
	checkAppLeaks(t)
	g := newGuarded(t)
	g.start()
	g.activate()
	g.update("contextUsage", "0.8")
	g.refused("full", true)
	if s := g.state(); s.SessionID != uuid(1) {
		t.Errorf("%+v", s)
	}
	g.client.PID = 4712
	g.refused("a resumed client", true)
	g.stop()
}

// A subagent has a context of its own. So has a session that nobody has activated.
func TestGuardLeavesOthersAlone(t *testing.T) {
	checkAppLeaks(t)
	g := newGuarded(t)
	g.start()
	g.shows(90)
	g.refused("not activated", false)
	g.activate()
	g.shows(90)
	if got := g.call("Bash", `{"command":"ls"}`, `,"agent_id":"a1"`); got != "" || g.state().Overflowed {
		t.Errorf("a subagent: %q, %+v", got, g.state())
	}
	g.refused("its agent", true)
	if got := g.call("Bash", `{"command":"ls"}`, `,"agent_id":"a1"`); got != "" {
		t.Errorf("a subagent of a full session: %q", got)
	}
	g.stop()
}

func TestGuardOff(t *testing.T) {
	for name, off := range map[string]func(*Options){
		"off":     func(o *Options) { o.Guard.Enabled = false },
		"dry run": func(o *Options) { o.DryRun = true },
	} {
		t.Run(name, func(t *testing.T) {
			checkAppLeaks(t)
			g := newGuarded(t)
			off(&g.o)
			g.start()
			g.activate()
			before := g.state()
			if got := g.shows(90); got != "" {
				t.Errorf("shows %q", got)
			}
			g.refused("full", false)
			if diff := cmp.Diff(before, g.state(), cmpopts.IgnoreUnexported(*before)); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
			g.stop()
		})
	}
}

// An agent that is full and has made but exempt calls cannot say that it is not.
func TestGuardMarksBeforeExemptCalls(t *testing.T) {
	checkAppLeaks(t)
	g := newGuarded(t)
	g.start()
	g.activate()
	g.shows(80)
	if got := g.call("Bash", `{"command":"sm session update sessions/X lifecycle completed"}`, ""); got != "" {
		t.Errorf("refused with %q", got)
	}
	if s := g.state(); !s.Overflowed || s.SessionID != g.session {
		t.Errorf("%+v", s)
	}
	g.refused("and then", true)
	g.until("the operator hears of it", func() bool { return strings.Contains(g.notified(), "has used up its context") })
	g.stop()
	if n := strings.Count(g.notified(), "[sm guard]"); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// A restart that does not come is told to the agent with each refusal, and to the operator once.
func TestGuardTellsOfRefusedRestart(t *testing.T) {
	checkAppLeaks(t)
	g := newGuarded(t)
	g.start()
	g.activate()
	g.shows(80)
	g.refused("full", true)
	g.override("killRequested", "true")
	g.override("lifecycle", "restarting")
	noErrors(t, guard.RestartRefused(g.dir, g.client.PID, g.client.Start, "no restart of 10 is left"))
	for range 3 {
		g.shows(81)
		if got := g.call("Bash", `{"command":"ls"}`, ""); !strings.Contains(got, "did not come: no restart of 10 is left") {
			t.Errorf("refused with %q", got)
		}
	}
	g.until("the operator hears of it", func() bool { return strings.Contains(g.notified(), "was not restarted: no restart of 10 is left") })
	g.stop()
	if n := strings.Count(g.notified(), "was not restarted"); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// A heartbeat of tomorrow does not hide what the transcript says.
func TestGuardUsageOfAWrongClock(t *testing.T) {
	checkAppLeaks(t)
	g := newGuarded(t)
	g.write(g.session, reply(ago(20*time.Second), "m1", 160_000, 10))
	g.start()
	g.activate()
	g.until("the reading", func() bool { s := g.rig.session(g.session); return s.TokensUsed != nil && *s.TokensUsed == 160_000 })
	g.update("contextUsage", "0.1")
	g.update("lastHeartbeat", time.Now().Add(24*time.Hour).UTC().Format(time.RFC3339))
	g.refused("full", true)
	g.stop()
}

// Whose session goes on in another process has it there, so that no other client takes it.
func TestGuardFollowsResumed(t *testing.T) {
	checkAppLeaks(t)
	g := newGuarded(t)
	g.o.Alive = func(pid int, _ string) bool { return pid == 4712 }
	g.start()
	g.activate()
	g.shows(80)
	g.client.PID, g.client.Start = 4712, "10"
	g.refused("resumed", true)
	if s := g.state(); s.PID != 4712 || s.PIDStart != "10" {
		t.Errorf("%+v", s)
	}
	g.client.PID = 4713
	g.refused("resumed twice", true)
	if s := g.state(); s.PID != 4712 {
		t.Errorf("taken from a client that lives: %+v", s)
	}
	g.stop()
}

// A report counts, though who sent it has hung up.
func TestReportOfOneThatHasHungUp(t *testing.T) {
	checkAppLeaks(t)
	g := newGuarded(t)
	g.start()
	g.activate()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for percent := 1; percent <= 20; percent++ {
		body := fmt.Sprintf(`{"session_id":%q,"hook_event_name":"StatusLine","context_window":{"context_window_size":200000,"used_percentage":%d},%s}`, g.session, percent, g.sm())
		w := httptest.NewRecorder()
		noErrors(t, (&signals{g.app}).postStatus(w, httptest.NewRequestWithContext(gone, http.MethodPost, "/hooks/claude", nil), []byte(body), time.Now()))
		if s := g.state(); w.Code != http.StatusOK || s.ContextUsage != float64(percent)/100 {
			t.Fatalf("%d: %d %s, %v", percent, w.Code, w.Body, s.ContextUsage)
		}
	}
	g.stop()
}

// Whatever stands in the place of the state, the tool call is made.
func TestGuardHostileStates(t *testing.T) {
	checkAppLeaks(t)
	g := newGuarded(t)
	g.start()
	for name, put := range map[string]func() error{
		"a pipe":   func() error { return syscall.Mkfifo(g.file(), 0o600) },
		"a folder": func() error { return os.Mkdir(g.file(), 0o700) },
		"a link":   func() error { return os.Symlink("/dev/zero", g.file()) },
		"no JSON":  func() error { return os.WriteFile(g.file(), []byte("{"), 0o600) },
		"10 MB":    func() error { return os.WriteFile(g.file(), make([]byte, 10<<20), 0o600) },
		"no more":  func() error { return nil },
		"odd members": func() error {
			return os.WriteFile(g.file(), []byte(`{"pid":{},"sessionId":[],"contextUsage":"0.9"}`), 0o600)
		},
	} {
		noErrors(t, os.RemoveAll(g.dir), os.MkdirAll(g.dir, 0o700), put())
		g.refused(name, false)
		if got := g.shows(90); got != "" {
			t.Errorf("%s: shows %q", name, got)
		}
	}
	g.stop()
}

// A refusal that cannot be stored is none: the agent could not hand over either.
func TestGuardCannotStore(t *testing.T) {
	checkAppLeaks(t)
	g := newGuarded(t)
	g.start()
	g.activate()
	g.update("contextUsage", "0.8")
	noErrors(t, os.Remove(g.file()+".lock"), syscall.Mkfifo(g.file()+".lock", 0o600))
	g.refused("not stored", false)
	noErrors(t, os.Remove(g.file()+".lock"))
	g.refused("stored", true)
	if !strings.Contains(g.log.String(), "a session is full, but that cannot be stored") {
		t.Error("nobody is told")
	}
	g.stop()
}
