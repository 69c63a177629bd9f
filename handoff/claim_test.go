package handoff

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestClaim is the life of a document: made, offered, offered again, received.
func TestClaim(t *testing.T) {
	s := newShelf(t)
	s.gets("worker", "", noon) // no folder yet
	d := s.put("worker", "one", noon)
	got := s.gets("worker", "one", noon.Add(time.Minute))
	want := d
	want.ClaimedBy, want.ClaimedBySession, want.ClaimedByPID, want.ClaimedAt = "worker", "next-worker", 43, noon.Add(time.Minute)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claimed (-want +got):\n%s", diff)
	}
	s.gets("worker", "one", noon.Add(2*time.Minute)) // until it is received
	s.gets("other", "", noon.Add(3*time.Minute))
	noError(t, s.Consume(web, d.ID, "next-worker", 44, noon.Add(4*time.Minute)))
	s.gets("worker", "", noon.Add(5*time.Minute))
	s.gets("other", "", noon.Add(5*time.Minute))
	s.last("worker", "one")
	for _, part := range []string{
		`"status": "consumed"`,
		`"consumed_by_pid": 44`,
		`"consumed_at": "2026-02-02T12:04:00Z"`,
	} {
		if text := s.read(web + ".manifest.json"); strings.Count(
			text,
			part,
		) != 3 { // current, agents, executed
			t.Errorf("%s is not everywhere in %s", part, text)
		}
	}
	noError(t, s.Consume(web, d.ID, "next-worker", 99, noon.Add(time.Hour))) // once
	if strings.Contains(s.read(web+".manifest.json"), "99") {
		t.Error("consumed twice")
	}
}

func TestClaimCurrent(t *testing.T) {
	s := newShelf(t)
	d := s.put("old", "left behind", noon)
	asked := ""
	if _, ok := s.claimFree(
		"new",
		noon,
		func(agent string) bool { asked = agent; return false },
	); ok ||
		asked != "old" {
		t.Fatalf("document of a running owner %q was claimed", asked)
	}
	got := s.gets("new", "left behind", noon)
	if got.ID != d.ID || got.Agent != "old" || got.ClaimedBy != "new" ||
		got.File != d.File {
		t.Errorf("got %+v", got)
	}
	s.gets("old", "", noon)
	s.gets("third", "", noon)
	s.put("third", "another", noon.Add(time.Second)) // takes the current file
	s.gets("new", "left behind", noon.Add(time.Second))
	s.gets("third", "another", noon.Add(time.Second))
	noError(t, s.Consume(web, d.ID, "next-new", 1, noon))
	s.gets("new", "", noon)
	s.last("new", "left behind")
	s.last("old", "")
}

// TestClaimNameless tests that a document without an owner goes to no agent.
func TestClaimNameless(t *testing.T) {
	s := newShelf(t)
	s.put("old", "plan", noon)
	for _, c := range []Claimant{{
		Channel: webChannel(),
	}, {
		Agent: "new",
	}, {
		Channel: Channel{Path: "/home/dev/web"},
		Agent:   "new",
	}} {
		if d, ok, err := s.Claim(c, noon, allEnded); ok || err == nil {
			t.Errorf("%+v got %+v", c, d)
		}
	}
	if _, ok := s.claimFree("new", noon, nil); ok {
		t.Error("a nameless agent got the document")
	}
	s.gets("new", "plan", noon)
}

// TestClaimOwn tests that an agent that has had a document is not new to the channel.
func TestClaimOwn(t *testing.T) {
	s := newShelf(t)
	d := s.put("worker", "mine", noon)
	s.gets("worker", "mine", noon)
	noError(t, s.Consume(web, d.ID, "next-worker", 1, noon))
	s.put("other", "theirs", noon.Add(time.Second))
	s.gets("worker", "", noon.Add(time.Second))
	s.gets("new", "theirs", noon.Add(time.Second))
}

func TestDocumentID(t *testing.T) {
	const first = "HO-20260202-120000-c74cc080"
	for _, c := range []struct {
		name, session string
		taken         []string
		want          string
	}{
		{"first", "c74cc080-94b9-4841-b82f-a62cfb8efdc0", nil, first},
		{"taken", "c74cc080-94b9", []string{first}, "HO-20260202-120001-c74cc080"},
		{
			"a later one taken",
			"c74cc080-94b9",
			[]string{"HO-20260202-120005-c74cc080", first},
			"HO-20260202-120001-c74cc080",
		},
		{"by a clock ahead", "c74cc080-94b9", []string{"HO-99991231-235959-c74cc080"}, first},
		{"no id", "c74cc080-94b9", []string{"", "HO-", "HO-20269902-120000-c74cc080"}, first},
		{"none", "", nil, "HO-20260202-120000-00000000"},
		{"hostile", "../\n../é", nil, "HO-20260202-120000-00000000"},
	} {
		if got := documentID(
			c.session,
			noon.In(time.FixedZone("", 3600)),
			c.taken,
		); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestExecuted(t *testing.T) {
	s := newShelf(t)
	d := s.putNew(Document{Agent: "worker", Executed: true, Body: "by handoff"}, noon)
	s.gets("new", "", noon) // it belongs to its own agent from the start
	s.last("worker", "by handoff")
	s.gets("worker", "by handoff", noon)
	noError(t, s.Consume(web, d.ID, "a session that is new", 7, noon))
	s.gets("worker", "", noon)
	// One that is made before a compaction does not replace it.
	s.put("worker", "automatic", noon.Add(time.Second))
	s.last("worker", "by handoff")
	s.last("new", "")
}

// TestExecutedLate tests that the proof may arrive when the agent already has another
// document.
func TestExecutedLate(t *testing.T) {
	s := newShelf(t)
	first := s.putNew(Document{Agent: "worker", Executed: true, Body: "first"}, noon)
	second := s.put("worker", "second", noon.Add(time.Second))
	noError(t, s.Consume(web, first.ID, "x", 1, noon.Add(2*time.Second)))
	s.last("worker", "first")
	s.gets("worker", "second", noon)
	noError(t, s.Consume(web, second.ID, "next-worker", 1, noon.Add(3*time.Second)))
	s.last("worker", "second")
}

// TestHandoffExpiry tests that documents older than two hours are not offered.
func TestHandoffExpiry(t *testing.T) {
	s := newShelf(t)
	d := s.put("worker", "old", noon)
	s.gets("worker", "old", noon.Add(2*time.Hour))
	s.gets("worker", "", noon.Add(2*time.Hour+time.Second))
	s.gets("new", "", noon.Add(2*time.Hour+time.Second))
	if got := strings.Count(s.read(web+".manifest.json"), `"status": "expired"`); got != 2 {
		t.Errorf("%d entries are marked as expired", got)
	}
	s.gets("worker", "", noon) // permanently
	// It was offered before, so a later proof counts.
	noError(t, s.Consume(web, d.ID, "next-worker", 1, noon.Add(3*time.Hour)))
	s.last("worker", "old")
	s.put("worker", "from the future", noon.Add(9*time.Hour))
	s.gets("worker", "", noon)
}

// TestSessionIDMismatch tests that a proof from a session other than the last one with the
// document does not count.
func TestSessionIDMismatch(t *testing.T) {
	s := newShelf(t)
	d := s.put("worker", "plan", noon)
	s.gets("worker", "plan", noon)
	if err := s.Consume(web, d.ID, "somebody", 1, noon); err == nil {
		t.Errorf("got %v", err)
	}
	s.gets("worker", "plan", noon)
	for _, id := range []string{"HO-20260202-115959-worker00", ""} {
		if err := s.Consume(web, id, "next-worker", 1, noon); !errors.Is(err, ErrNoDocument) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if err := s.Consume(
		"nowhere",
		d.ID,
		"next-worker",
		1,
		noon,
	); !errors.Is(
		err,
		ErrNoDocument,
	) {
		t.Errorf("got %v", err)
	}
}
