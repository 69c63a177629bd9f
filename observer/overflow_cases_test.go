package observer

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestGuardUsage tests that the figure is the transcript's, or the state file's if that is
// newer or the only one.
func TestGuardUsage(t *testing.T) {
	t.Parallel()
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
	g.until(
		"the reading",
		func() bool {
			s := g.rig.session(g.session)
			return s.TokensUsed != nil &&
				*s.TokensUsed == 160_000
		},
	)
	at("0.5", 5*time.Second)
	g.refused("a new figure", false)
	at("0.5", time.Minute)
	g.refused("the transcript", true)
}

// TestGuardCannotStore tests that a call is allowed if its refusal cannot be stored:
// otherwise the agent could not hand over.
func TestGuardCannotStore(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.start()
	g.activate()
	g.update("contextUsage", "0.8")
	noErrors(t, os.Remove(g.file()+".lock"), os.Mkdir(g.file()+".lock", 0o700))
	g.refused("not stored", false)
	noErrors(t, os.Remove(g.file()+".lock"))
	g.refused("stored", true)
	if !strings.Contains(g.log.String(), "a session is full, but that cannot be stored") {
		t.Error("the operator got no notice")
	}
}
