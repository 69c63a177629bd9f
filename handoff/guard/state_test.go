package guard

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// seedState is a file with every field, as written by another program.
const seedState = `{
  "pid": 12345,
  "sessionId": "abc-123-def",
  "skill": "implement",
  "lifecycle": "active",
  "overflowed": false,
  "killRequested": false,
  "contextUsage": 0.72,
  "currentPhase": "Phase 5: Build Loop",
  "startedAt": "2026-02-05T14:30:00Z",
  "lastHeartbeat": "2026-02-05T15:45:00Z",
  "restartPrompt": "..."
}
`

func parseGuard(t testing.TB, text string) *State {
	t.Helper()
	s, err := ParseState([]byte(text))
	noError(t, err)
	return s
}

func encodeGuard(t testing.TB, s *State) string {
	t.Helper()
	text, err := s.Encode()
	noError(t, err)
	return string(text)
}

var onlyFields = cmpopts.IgnoreUnexported(State{})

func TestGuardStateFields(t *testing.T) {
	s := parseGuard(t, seedState)
	want := &State{
		PID:           12345,
		SessionID:     "abc-123-def",
		Skill:         "implement",
		Lifecycle:     SessionActive,
		ContextUsage:  0.72,
		CurrentPhase:  "Phase 5: Build Loop",
		StartedAt:     time.Date(2026, 2, 5, 14, 30, 0, 0, time.UTC),
		LastHeartbeat: time.Date(2026, 2, 5, 15, 45, 0, 0, time.UTC),
		RestartPrompt: "...",
	}
	if diff := cmp.Diff(want, s, onlyFields); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(seedState, encodeGuard(t, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGuardStateKeepsUnknown tests that members of other programs stay, and that members of
// the wrong type count as absent.
func TestGuardStateKeepsUnknown(t *testing.T) {
	s := parseGuard(
		t,
		`{"todo":1e2,"tags":[1.50,{"a":null}],"pid":"12345","PID":3,"sessionId":"s","overflowed":false}`,
	)
	if s.PID != 0 || s.SessionID != "s" {
		t.Errorf("read %+v", s)
	}
	s.Overflowed = true
	s.SessionID = ""
	want := `{"pid":0,"skill":"","lifecycle":"","overflowed":true,"killRequested":false,"contextUsage":0,` +
		`"PID":3,"tags":[1.50,{"a":null}],"todo":1e2}`
	if diff := cmp.Diff(
		want,
		strings.Join(strings.Fields(encodeGuard(t, s)), ""),
	); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGuardStateRefuses(t *testing.T) {
	for _, text := range []string{
		"", "[]", "null", `{"pid":1`, `{"pid":1}x`, `{"pid":1}{"pid":2}`, "\xff\xfe{}",
	} {
		if s, err := ParseState([]byte(text)); err == nil {
			t.Errorf("%q: read as %+v", text, s)
		}
	}
	if _, err := (&State{
		StartedAt: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC),
	}).Encode(); err == nil {
		t.Error("a time that no file can hold is written")
	}
}

func FuzzGuardState(f *testing.F) {
	f.Add([]byte(seedState), true, "s")
	f.Add([]byte(`{"pid":1,"pid":2,"a\"b":{"c":[]},"\ud800":1}`), false, "")
	f.Fuzz(func(t *testing.T, text []byte, overflowed bool, session string) {
		s, err := ParseState(text)
		if err != nil {
			return
		}
		s.Overflowed = overflowed
		s.SessionID = strings.ToValidUTF8(session, "?") // as JSON has it
		out, err := s.Encode()
		if err != nil {
			t.Skip(err) // a time written by another program
		}
		again, err := ParseState(out)
		if err != nil {
			t.Fatalf("%v: %q became %q", err, text, out)
		}
		if diff := cmp.Diff(s, again, onlyFields); diff != "" {
			t.Errorf("(-written +read):\n%s", diff)
		}
		for name := range s.others {
			if _, ok := again.others[name]; !ok {
				t.Errorf("%q is lost: %q became %q", name, text, out)
			}
		}
	})
}
