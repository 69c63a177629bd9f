package guard

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// By the session first, by the process second.
func TestGuardFinds(t *testing.T) {
	early := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	late := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	client := Client{"s", 7, "100"}
	for _, tt := range []struct {
		name   string
		states map[string]State
		client Client
		want   string
	}{
		{"none", nil, client, ""},
		{"by the session", map[string]State{"A": {SessionID: "s"}, "B": {SessionID: "t"}}, client, "A"},
		{"by the process", map[string]State{"A": {
			PID:      7,
			PIDStart: "100",
		}, "B": {
			PID:      8,
			PIDStart: "100",
		}}, client, "A"},
		{"the session counts for more", map[string]State{"A": {
			SessionID: "s",
		}, "B": {
			PID:       7,
			PIDStart:  "100",
			StartedAt: late,
		}}, client, "A"},
		{"a resumed client", map[string]State{"A": {SessionID: "s", PID: 8, PIDStart: "90"}}, client, "A"},
		{"after a clear", map[string]State{"A": {SessionID: "old", PID: 7, PIDStart: "100"}}, client, "A"},
		{"a used pid", map[string]State{"A": {PID: 7, PIDStart: "99"}}, client, ""},
		{"a used pid, start not told", map[string]State{"A": {PID: 7, PIDStart: "99"}}, Client{PID: 7}, ""},
		{"a file of another program", map[string]State{"A": {PID: 7}}, client, "A"},
		{"nobody asks", map[string]State{"A": {}, "B": {PID: 1}}, Client{}, ""},
		{"init asks", map[string]State{"B": {PID: 1}}, Client{PID: 1}, ""},
		{"two of one session: the last started", map[string]State{"A": {
			SessionID: "s",
			StartedAt: late,
		}, "B": {
			SessionID: "s",
			StartedAt: early,
		}}, client, "A"},
		{"two of one process: not the completed one", map[string]State{"A": {
			PID:       7,
			Lifecycle: SessionCompleted,
			StartedAt: late,
		}, "B": {
			PID:       7,
			StartedAt: early,
		}}, client, "B"},
		{"two of one process: the full one", map[string]State{"A": {
			PID:        7,
			Overflowed: true,
			StartedAt:  early,
		}, "B": {
			PID:       7,
			StartedAt: late,
		}}, client, "A"},
		{"two of one session: the full one", map[string]State{"A": {
			SessionID:  "s",
			Overflowed: true,
		}, "B": {
			SessionID: "s",
			PID:       7,
			StartedAt: late,
		}}, client, "A"},
		{"full, but of another session", map[string]State{"A": {
			PID:        7,
			SessionID:  "old",
			Overflowed: true,
		}, "B": {
			SessionID: "s",
		}}, client, "B"},
		{"a completed one", map[string]State{"A": {PID: 7, Lifecycle: SessionCompleted}}, client, "A"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t)
			for name, s := range tt.states {
				p.put(name, s)
			}
			path, s, ok := Find([]string{filepath.Join(p.dir, "deep", "down")}, tt.client)
			if ok != (tt.want != "") || ok && (path != p.state(tt.want) || s == nil) {
				t.Errorf("found %q", path)
			}
		})
	}
}

// The client's folder goes up and down with its cd; the folder that it was started in stays.
func TestGuardFindsFromSeveralFolders(t *testing.T) {
	p := newProject(t)
	q := newProject(t)
	path := p.put("A", State{SessionID: "s"})
	q.put("A", State{PID: 7})
	for _, dirs := range [][]string{{p.dir, q.dir}, {q.dir, p.dir}, {"", p.dir}} {
		if got, _, _ := Find(dirs, Client{"s", 7, ""}); got != path {
			t.Errorf("%q: found %q", dirs, got)
		}
	}
	inner := &project{t, filepath.Join(p.dir, "inner")}
	inner.put("B", State{SessionID: "t"})
	if got, _, _ := Find([]string{inner.dir}, Client{SessionID: "s"}); got != path {
		t.Errorf("above a project with sessions of its own: found %q", got)
	}
}

func TestGuardAny(t *testing.T) {
	p := newProject(t)
	deep := []string{"", "relative", filepath.Join(p.dir, "a", "b")}
	p.write(filepath.Join(p.session("A"), DocumentFile), "x")
	p.write(p.session("file"), "x")
	if Any(deep) || Any(nil) {
		t.Error("there is none")
	}
	p.put("B", State{})
	if !Any(deep) || Any(deep[:2]) {
		t.Error("there is one above the last folder")
	}
}

func BenchmarkFindGuarded(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := newProject(b)
			for i := range n {
				p.write(p.state(fmt.Sprintf("2026_01_%04d", i)), seedState)
			}
			for b.Loop() {
				Find([]string{p.dir, filepath.Join(p.dir, "a", "b")}, Client{"none", 98765, "1"})
			}
		})
	}
}
