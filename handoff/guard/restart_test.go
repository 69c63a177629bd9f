package guard

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A restart that the supervisor refuses leaves a session that can hand over once more, and knows why.
func TestGuardRestartRefused(t *testing.T) {
	client := Client{"s", 7, "100"}
	full := State{
		PID:              7,
		PIDStart:         "100",
		SessionID:        "s",
		Skill:            "implement",
		Lifecycle:        SessionDehydrating,
		DehydratingSince: guardStart,
		StartedAt:        guardStart,
		Overflowed:       true,
		ContextUsage:     0.8,
	}
	with := func(f func(*State)) State { s := full; f(&s); return s }
	refused := func(s *State) { s.RestartRefused = "no restart of 10 is left" }
	for _, tt := range []struct {
		name         string
		before, want State
	}{
		{"full", full, with(refused)},
		{"full, not dehydrated", with(func(s *State) {
			s.Lifecycle = SessionActive
			s.DehydratingSince = time.Time{}
		}),
			with(func(s *State) { refused(s); s.DehydratingSince = time.Time{} })},
		{"neither", with(func(s *State) {
			s.Lifecycle = SessionActive
			s.Overflowed = false
			s.DehydratingSince = time.Time{}
		}),
			with(func(s *State) {
				refused(s)
				s.Lifecycle = SessionActive
				s.Overflowed = false
				s.DehydratingSince = time.Time{}
			})},
		{
			"a prompt of somebody's",
			with(func(s *State) { s.RestartPrompt = "go on" }),
			with(func(s *State) { refused(s); s.RestartPrompt = "go on" }),
		},
		{"refused before", with(func(s *State) { s.RestartRefused = "of before" }), with(refused)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t)
			p.put("A", tt.before)
			other := p.put("B", State{
				PID:           8,
				PIDStart:      "100",
				KillRequested: true,
				Lifecycle:     SessionRestarting,
			})
			p.write(filepath.Join(p.session("A"), DocumentFile), "x")
			for range 2 { // the document does for another try
				if err := AskRestart(t.Context(), p.session("A"), client, func() error { return nil }); err != nil {
					t.Fatal(err)
				}
				if s := p.read("A"); s.RestartRefused != "" || !s.KillRequested {
					t.Errorf("asked: %+v", s)
				}
				if err := RestartRefused(
					filepath.Join(p.dir, "sub"),
					7,
					"100",
					"no restart of 10\n is left",
				); err != nil {
					t.Fatal(err)
				}
				tt.want.RestartRefused = "no restart of 10  is left"
				p.want("A", tt.want)
			}
			if err := RestartRefused(
				p.dir,
				7,
				"100",
				"nobody has asked",
			); err != nil ||
				p.read("A").RestartRefused != tt.want.RestartRefused {
				t.Errorf("error %v, %+v", err, p.read("A"))
			}
			if s, err := Read(other); err != nil || !s.KillRequested {
				t.Errorf("another client's: %+v, %v", s, err)
			}
		})
	}
	got := testGuard().Refusal("/p/sessions/A", &State{RestartRefused: "no restart of 10 is left"})
	if !strings.Contains(got, "The restart that was asked for did not come: no restart of 10 is left.") ||
		strings.Contains(testGuard().Refusal("/p", new(State)), "did not come") {
		t.Errorf("told: %q", got)
	}
}

// Neither a restart nor a handoff brings back what is completed; a full one goes on in the fresh context.
func TestGuardResumedLeavesCompleted(t *testing.T) {
	p := newProject(t)
	done := State{
		PID:          7,
		PIDStart:     "100",
		SessionID:    "s",
		Lifecycle:    SessionCompleted,
		StartedAt:    guardStart,
		ContextUsage: 0.5,
	}
	p.put("A", done)
	if err := Resumed(p.state("A"), 9, "300"); err != nil {
		t.Error(err)
	}
	p.want("A", done)
	done.Overflowed = true
	p.put("A", done)
	if err := Resumed(p.state("A"), 9, "300"); err != nil {
		t.Error(err)
	}
	if s := p.read("A"); s.Overflowed || s.Lifecycle != SessionResuming || s.PID != 9 {
		t.Errorf("full: %+v", s)
	}
	if err := Resumed(p.state("B"), 9, "300"); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("none: %v", err)
	}
}
