package guard

import (
	"errors"
	"path/filepath"
	"testing"
)

// TestGuardRestartRefused tests that after a refused restart the session can hand over again,
// and has the reason.
func TestGuardRestartRefused(t *testing.T) {
	client := Client{"s", 7, "100"}
	const (
		full = "pid=7 pidStart=100 sessionId=s skill=implement lifecycle=dehydrating dehydratingSince=-1h " +
			"startedAt=-1h overflowed=true contextUsage=0.8 "
		never = " dehydratingSince=0001-01-01T00:00:00Z"
	)
	for _, tt := range []struct{ name, before, want string }{
		{"full", full, full},
		{"full, not dehydrated", full + "lifecycle=active" + never, full + never},
		{"a prompt of a person", full + "restartPrompt=x", full + "restartPrompt=x"},
		{"refused before", full + "restartRefused=before", full},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t)
			p.put("A", state(t, tt.before))
			want := state(t, tt.want)
			other := p.put(
				"B",
				state(t, "pid=8 pidStart=100 killRequested=true lifecycle=restarting"),
			)
			p.write(filepath.Join(p.session("A"), DocumentFile), "x")
			for range 2 { // the document is valid for another attempt
				noError(t, AskRestart(t.Context(), p.session("A"), client, granted))
				if s := p.read("A"); s.RestartRefused != "" || !s.KillRequested {
					t.Errorf("asked: %+v", s)
				}
				noError(t, RestartRefused(
					filepath.Join(p.dir, "sub"),
					7,
					"100",
					"no restart of 10\n is left",
				))
				want.RestartRefused = "no restart of 10  is left"
				p.want("A", want)
			}
			if err := RestartRefused(
				p.dir,
				7,
				"100",
				"no restart was requested",
			); err != nil ||
				p.read("A").RestartRefused != want.RestartRefused {
				t.Errorf("error %v, %+v", err, p.read("A"))
			}
			if s, err := Read(other); err != nil || !s.KillRequested {
				t.Errorf("another client's: %+v, %v", s, err)
			}
		})
	}
}

// TestGuardResumedLeavesCompleted tests that neither a restart nor a handoff reopens a
// completed session, and that a full one continues in the fresh context.
func TestGuardResumedLeavesCompleted(t *testing.T) {
	p := newProject(t)
	done := state(
		t,
		"pid=7 pidStart=100 sessionId=s lifecycle=completed startedAt=-1h contextUsage=0.5",
	)
	p.put("A", done)
	noError(t, Resumed(p.state("A"), 9, "300"))
	p.want("A", done)
	done.Overflowed = true
	p.put("A", done)
	noError(t, Resumed(p.state("A"), 9, "300"))
	if s := p.read("A"); s.Overflowed || s.Lifecycle != SessionResuming || s.PID != 9 {
		t.Errorf("full: %+v", s)
	}
	if err := Resumed(p.state("B"), 9, "300"); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("none: %v", err)
	}
}
