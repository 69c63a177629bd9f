package guard

import (
	"path/filepath"
	"testing"
)

// TestGuardFinds tests that the session counts first, and the process second.
func TestGuardFinds(t *testing.T) {
	const (
		session = "sessionId=s "
		process = "pid=7 pidStart=100 "
		early   = "startedAt=0s "
		late    = "startedAt=1h "
		full    = "overflowed=true "
		over    = "lifecycle=completed "
	)
	client := Client{"s", 7, "100"}
	for _, tt := range []struct {
		name, a, b string
		client     Client
		want       string
	}{
		{"by the session", session, "sessionId=t", client, "A"},
		{"by the process", process, "pid=8 pidStart=100", client, "A"},
		{"the session takes precedence", session, process + late, client, "A"},
		{"after a clear", process + "sessionId=old", "", client, "A"},
		{"a used pid", "pid=7 pidStart=99", "", client, ""},
		{"a file of another program", "pid=7", "", client, "A"},
		{"no client", "skill=x", "pid=7", Client{}, ""},
		{
			"two of one session: the last started",
			session + late,
			session + early,
			client,
			"A",
		},
		{
			"two of one process: not the completed one",
			"pid=7 " + over + late,
			"pid=7 " + early,
			client,
			"B",
		},
		{
			"two of one process: the full one",
			"pid=7 " + full + early,
			"pid=7 " + late,
			client,
			"A",
		},
		{"full, but of another session", "pid=7 sessionId=old " + full, session, client, "B"},
		{"a completed one", "pid=7 " + over, "", client, "A"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.put("A", state(t, tt.a))
			p.put("B", state(t, tt.b))
			path, s, ok := Find([]string{filepath.Join(p.dir, "deep", "down")}, tt.client)
			if ok != (tt.want != "") || ok && (path != p.state(tt.want) || s == nil) {
				t.Errorf("found %q", path)
			}
		})
	}
}

// TestGuardFindsFromSeveralFolders tests that a state is found from the client's start
// folder, although its working directory changes with cd.
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
		t.Error("found a state where none exists")
	}
	p.put("B", State{})
	if !Any(deep) || Any(deep[:2]) {
		t.Error("found no state above the last folder")
	}
}
