package guard

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/handoff/files"
)

func testGuard() *Guard {
	return &Guard{Threshold: 0.76, Allow: []string{"Write", "Edit", "Read"}}
}

func TestGuardDecides(t *testing.T) {
	for _, tt := range []struct {
		name  string
		state State
		usage float64
		news  bool
	}{
		{"below the threshold", State{}, 0.7599, false},
		{"at the threshold", State{}, 152_000.0 / 200_000, true},
		{"above it", State{}, 0.9, true},
		{"sticky: after a smaller reading", State{Overflowed: true}, 0.1, false},
		{"sticky: while unknown", State{Overflowed: true}, UsageUnknown, false},
		{"completed", State{Lifecycle: SessionCompleted}, 0.9, false},
		{"sticky: completed", State{
			Lifecycle:  SessionCompleted,
			Overflowed: true,
		}, 0.1, false},
	} {
		s := tt.state
		news := testGuard().mark(&s, Client{}, tt.usage)
		if news != tt.news || s.Overflowed != (tt.state.Overflowed || tt.news) {
			t.Errorf("%s: news %v, overflowed %v", tt.name, news, s.Overflowed)
		}
	}
}

// TestGuardDecidesWhoseContextIsFull tests that the session that makes the call is the full
// one, for any content of the file.
func TestGuardDecidesWhoseContextIsFull(t *testing.T) {
	client := Client{"s", 7, "100"}
	for _, tt := range []struct {
		name  string
		state State
		usage float64
		want  string
		news  bool
	}{
		{"not bound", State{PID: 7}, 0.8, "s", true},
		{"bound to an id from elsewhere", State{PID: 7, SessionID: "x"}, 0.8, "s", true},
		{"already full, not bound", State{PID: 7, Overflowed: true}, 0.1, "s", true},
		{"already full, then cleared", State{
			PID:        7,
			SessionID:  "old",
			Overflowed: true,
		}, 0.8, "old", false},
		{"not full", State{PID: 7, SessionID: "old"}, 0.5, "old", false},
	} {
		s := tt.state
		news := testGuard().mark(&s, client, tt.usage)
		if s.SessionID != tt.want || news != tt.news {
			t.Errorf("%s: news %v, %+v", tt.name, news, s)
		}
	}
}

// TestGuardChecks tests that an overflow is stored when the call is decided, also when the
// call is allowed, and is reported once; and that the call is allowed if it cannot be stored.
func TestGuardChecks(t *testing.T) {
	p := newProject(t)
	p.put("A", State{PID: 7, PIDStart: "1", Lifecycle: SessionActive})
	call := ToolCall{
		Dirs:   []string{p.dir},
		Client: Client{SessionID: "now", PID: 7, Start: "1"},
		Alive:  noneLives,
	}
	for _, step := range []struct {
		usage                         float64
		exempt, refuse, first, stored bool
	}{
		{0.5, false, false, false, false},
		{0.8, true, false, true, true},
		{0.8, false, true, false, true},
		{0.1, false, true, false, true},
		{0.1, true, false, false, true},
	} {
		call.Exempt = func(string) bool { return step.exempt }
		call.Usage = func(*State) float64 { return step.usage }
		j, err := testGuard().Check(t.Context(), call)
		noError(t, err)
		if j.Refuse != step.refuse || j.First != step.first || j.Dir != p.session("A") ||
			j.State.Overflowed != step.stored || p.read("A").Overflowed != step.stored {
			t.Errorf("%+v: %+v, state %+v", step, j, j.State)
		}
	}
	p.put("A", State{PID: 7, PIDStart: "1", Lifecycle: SessionActive})
	noError(t, os.Remove(p.state("A")+".lock"))
	noError(t, os.Mkdir(p.state("A")+".lock", 0o700))
	call.Usage = func(*State) float64 { return 0.9 }
	call.Exempt = func(string) bool { return false }
	if j, err := testGuard().Check(t.Context(), call); err == nil || j.Refuse {
		t.Errorf("not stored: %+v, %v", j, err)
	}
}

// TestGuardRefusalSaysWhatToDo tests for a message with the remedy and the allowed tools,
// without a percentage.
func TestGuardRefusalSaysWhatToDo(t *testing.T) {
	got := testGuard().Refusal("/p/sessions/A", &State{
		RestartRefused: "no restart of 10 is left",
	})
	for _, want := range []string{
		"/session dehydrate restart",
		"Write, Edit and Read of /p/sessions/A/DEHYDRATED_CONTEXT.md",
		"sm commands",
		"The restart that was asked for did not come: no restart of 10 is left.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not contain %q", got, want)
		}
	}
	if strings.ContainsRune(got, '%') {
		t.Errorf("%q contains a percentage", got)
	}
}

func TestGuardLine(t *testing.T) {
	for want, s := range map[string]State{
		"CONTEXT_OVERFLOW_PROTECTION [implement/build-loop] 72%": {
			Skill:        "implement",
			CurrentPhase: "Phase 5: Build Loop",
			ContextUsage: 0.5472,
		},
		"CONTEXT_OVERFLOW_PROTECTION [] 99%":  {ContextUsage: 0.7599},
		"CONTEXT_OVERFLOW_PROTECTION [] 100%": {ContextUsage: 0.76},
		"CONTEXT_OVERFLOW_PROTECTION [b/größe-2] 100%": {
			Skill:        "b\x1b",
			CurrentPhase: "PHASE 3.1b – Größe #2",
			ContextUsage: 0.1,
			Overflowed:   true,
		},
		"CONTEXT_OVERFLOW_PROTECTION [" + strings.Repeat("s", 79) + "…] 0%": {
			Skill: strings.Repeat("s", 100),
		},
	} {
		if got := testGuard().Line("CONTEXT_OVERFLOW_PROTECTION", &s); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestGuardBinds tests that the process of the activation identifies the session.
func TestGuardBinds(t *testing.T) {
	client := Client{"new", 7, "100"}
	const mine = "pid=7 pidStart=100 contextUsage=0.5 "
	for _, tt := range []struct {
		name, state, want string
		news              bool
	}{
		{"the first report", mine, "new", true},
		{"after a clear", mine + "sessionId=old", "new", true},
		{"a later report", mine + "sessionId=new", "new", false},
		{"another process", mine + "pid=8", "", false},
		{"a file without a start time", "pid=7 contextUsage=0.5", "new", true},
		{"ending: kill requested", mine + "killRequested=true", "", false},
		{"ending: dehydrating", mine + "lifecycle=dehydrating", "", false},
	} {
		s := state(t, tt.state)
		old := s.SessionID
		if news := s.Bind(client); news != tt.news || s.SessionID != tt.want {
			t.Errorf(
				"%s: news %v, session %q; want %v, %q",
				tt.name,
				news,
				s.SessionID,
				tt.news,
				tt.want,
			)
		}
		if left := old != "" &&
			tt.news; (s.ContextUsage == 0) != left ||
			tt.news && s.PIDStart != "100" {
			t.Errorf("%s: usage %v, start %q", tt.name, s.ContextUsage, s.PIDStart)
		}
	}
}

func TestGuardReport(t *testing.T) {
	now := guardNow.Add(time.Second / 2)
	client := Client{"s", 7, "100"}
	s := &State{PID: 7, PIDStart: "100"}
	steps := []struct {
		name    string
		usage   float64
		at      time.Time
		changed bool
	}{
		{"binds", UsageUnknown, now, true},
		{"the same second", UsageUnknown, now.Add(400 * time.Millisecond), false},
		{"usage", 0.5, now, true},
		{"the next second", 0.5, now.Add(time.Second), true},
		{"a clock that goes back", 0.5, now, false},
		{"more than all", 1.2, now, true},
	}
	for _, step := range steps {
		if changed := s.Report(client, step.usage, step.at); changed != step.changed {
			t.Errorf("%s: changed %v", step.name, changed)
		}
	}
	want := &State{
		PID:           7,
		PIDStart:      "100",
		SessionID:     "s",
		ContextUsage:  1,
		LastHeartbeat: guardNow.Add(time.Second),
	}
	if diff := cmp.Diff(want, s, onlyFields); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGuardSet(t *testing.T) {
	s := &State{PID: 1, PIDStart: "5"}
	for _, tt := range []struct{ field, value, err string }{
		{"contextUsage", "0.85", ""},
		{"contextUsage", "85", "contextUsage is a share"},
		{"contextUsage", "NaN", "contextUsage is a share"},
		{"pid", "4711", ""},
		{"pid", "1", "pid is the number"},
		{"pid", "2147483648", "pid is the number"},
		{"overflowed", "yes", "overflowed is true or false"},
		{"killRequested", "true", ""},
		{"lifecycle", "completed", ""},
		{"lifecycle", "done", "lifecycle is one of"},
		{"skill", "test", ""},
		{"currentPhase", "Phase 1: \"Größe\"", ""},
		{"restartPrompt", "go on", ""},
		{"restartPrompt", "\xff", "restartPrompt is a text"},
		{"sessionId", "s", ""},
		{"startedAt", "2026-02-05T16:30:00+02:00", ""},
		{"startedAt", "today", "startedAt is a time"},
		{
			"lastheartbeat",
			"x",
			`no field "lastheartbeat"; there are pid, pidStart,`,
		},
		{"overflowed", "true", ""},
	} {
		err := s.Set(tt.field, tt.value, guardNow, false)
		if tt.err == "" {
			noError(t, err)
		} else {
			fails(t, tt.field+" = "+tt.value, err, tt.err)
		}
	}
	want := &State{
		PID:           4711,
		SessionID:     "s",
		Skill:         "test",
		Lifecycle:     SessionCompleted,
		Overflowed:    true,
		KillRequested: true,
		ContextUsage:  0.85,
		CurrentPhase:  "Phase 1: \"Größe\"",
		StartedAt:     time.Date(2026, 2, 5, 14, 30, 0, 0, time.UTC),
		LastHeartbeat: guardNow,
		RestartPrompt: "go on",
	}
	if diff := cmp.Diff(want, s, onlyFields); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGuardSetWhileFull tests that while a session is full no caller can change its identity
// or a field that would free it; only a person can override that.
func TestGuardSetWhileFull(t *testing.T) {
	values := map[string]string{
		"pid": "4242", "pidStart": "", "sessionId": "", "skill": "test", "lifecycle": "restarting", "overflowed": "false", "killRequested": "false",
		"contextUsage": "0.1", "currentPhase": "Phase 6", "startedAt": "2026-01-01T00:00:00Z", "lastHeartbeat": "2026-01-01T00:00:00Z",
		"dehydratingSince": "2026-01-01T00:00:00Z", "restartPrompt": "go on", "restartRefused": "",
	}
	free := []string{
		"skill",
		"contextUsage",
		"currentPhase",
		"lastHeartbeat",
		"restartPrompt",
	}
	full := State{
		PID:              7,
		PIDStart:         "100",
		SessionID:        "s",
		Lifecycle:        SessionDehydrating,
		Overflowed:       true,
		KillRequested:    true,
		StartedAt:        guardNow,
		DehydratingSince: guardNow,
		RestartRefused:   "x",
	}
	names, _ := files.Fields(&full)
	for _, field := range names {
		value, known := values[field]
		if !known {
			t.Errorf("new field %s: add whether it may be set while the context is full", field)
		}
		s := full
		if err := s.Set(field, value, guardNow, false); (err == nil) != slices.Contains(free, field) {
			t.Errorf("%s: error %v", field, err)
		} else if err != nil && !cmp.Equal(s, full, onlyFields) {
			t.Errorf("%s was refused, and set", field)
		}
		if err := s.Set(field, value, guardNow, true); err != nil ||
			cmp.Equal(s, full, onlyFields) {
			t.Errorf("%s, by a person: error %v", field, err)
		}
	}
	noError(t, full.Set("overflowed", "true", guardNow, false))
}
