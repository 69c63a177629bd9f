package observer

import (
	"os"
	"strings"
	"testing"
	"time"

	"sm/handoff"
)

// The tests of this file cover documents, the handling of errors and its safety limits in the
// observer. handoff/supervise tests how `sm run` executes an order, including Ctrl-C.

// newRotationRig returns an observer with an agent "w1" in a pane, at work on its first
// prompt.
func newRotationRig(t *testing.T, change func(*HandoffOptions)) (*rig, *fakeClients, *fakeClient) {
	c := newFakeClients(t)
	if change != nil {
		change(&c.r.o.Handoff)
	}
	c.r.start()
	a := c.newPane("w1", 3)
	a.works("Go.")
	return c.r, c, a
}

const webChannel = "-home-dev-web"

// leaves stores a document of an agent, with an age.
func (r *rig) leaves(agent, body string, before time.Duration) handoff.Document {
	r.t.Helper()
	d, err := r.o.Handoff.Documents.Put(handoff.Document{
		Channel:    webChannel,
		Agent:      agent,
		SessionID:  uuid(9),
		WorkingDir: "/home/dev/web",
		Type:       handoff.Manual,
		Path:       "/home/dev/web/doc.md",
		Body:       body,
	}, time.Now().Add(-before))
	noErrors(r.t, err)
	return d
}

// documentIs waits for the status of an agent's document.
func (r *rig) documentIs(id string, want handoff.Status) {
	r.t.Helper()
	r.until(id+" is "+string(want), func() bool {
		list, err := r.o.Handoff.Documents.List(time.Now())
		noErrors(r.t, err)
		for _, d := range list {
			if d.ID == id && d.Status == want {
				return true
			}
		}
		return false
	})
}

func TestRotation_Document_GivenOnceWhateverBeginsTheSession(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"startup", "resume", "clear"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			r, _, a := newRotationRig(t, nil)
			d := r.leaves("w1", "Next: CI.", time.Minute)
			a.starts(source)
			got := a.log()
			if len(got) != 1 ||
				!strings.HasPrefix(
					got[0],
					"SessionStart: === HANDOFF LOADED (ID: "+d.ID+") ===\nChannel: "+webChannel+"\nPrevious Session: "+uuid(9)+"\nType: manual\n",
				) ||
				!strings.Contains(
					got[0],
					"\nNext: CI.\n",
				) || !strings.HasSuffix(
				got[0],
				"\n=== END HANDOFF ===",
			) {
				t.Fatalf("received %q", got)
			}
			r.documentIs(d.ID, handoff.StatusConsumed)
			for _, again := range []string{"startup", "resume", "clear"} {
				a.starts(again)
			}
			if n := len(a.log()); n != 1 {
				t.Errorf("received %q", a.log())
			}
			r.ends()
		})
	}
}

func TestRotation_Document_MadeBeforeACompaction(t *testing.T) {
	t.Parallel()
	r, _, a := newRotationRig(t, func(o *HandoffOptions) { o.AutoDocument = true })
	if text := a.hook("PreCompact", `,"trigger":"auto"`); text != "" {
		t.Errorf("got %q for the summary", text)
	}
	text := a.hook("SessionStart", `,"source":"compact"`)
	for _, want := range []string{
		"=== HANDOFF LOADED (ID: HO-",
		"Type: auto\n",
		"Previous Session: " + a.session,
		"Go.",
		"Age: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got %q, want %q in it", text, want)
		}
	}
	r.ends()
}

// TestRotation_Document_TheAgentsOwnBeforeACompaction tests that after a compaction the agent
// gets the document that it has handed over in this cycle, not the one made of its
// transcript, unless the file is no longer valid, or of an earlier cycle.
func TestRotation_Document_TheAgentsOwnBeforeACompaction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(r *rig, a *fakeClient, doc string)
		own    bool
	}{
		"as it was": {func(*rig, *fakeClient, string) {}, true},
		"it is gone": {
			func(r *rig, _ *fakeClient, doc string) { noErrors(r.t, os.Remove(doc)) },
			false,
		},
		"of an earlier cycle": {func(r *rig, a *fakeClient, _ string) {
			scheduled := time.Now()
			r.until("a later time stamp", func() bool { // records have milliseconds
				return time.Now().Truncate(time.Millisecond).After(scheduled)
			})
			a.record(`"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":150000,"durationMs":1700}`)
			r.until("the next cycle", func() bool { return r.session("w1").Cycle == 2 })
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _, a := newRotationRig(t, func(o *HandoffOptions) { o.AutoDocument = true })
			doc := a.terminal.doc("doc.md", "Next: look at CI.")
			a.hands(doc)
			c.change(r, a, doc)
			a.hook("PreCompact", `,"trigger":"auto"`)
			text := a.hook("SessionStart", `,"source":"compact"`)
			if own := strings.Contains(text, "Next: look at CI.") &&
				strings.Contains(text, "Type: manual\n"); own != c.own ||
				strings.Contains(text, "Type: auto\n") == c.own {
				t.Errorf("its own document: got %v, want %v, in %q", own, c.own, text)
			}
			r.ends()
		})
	}
}
