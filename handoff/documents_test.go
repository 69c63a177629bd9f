package handoff

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// expiry is that of the documents under test.
const expiry = 2 * time.Hour

// unlogged keeps documents in dir.
func unlogged(dir string) *Documents {
	return NewDocuments(dir, expiry, slog.New(slog.DiscardHandler))
}

// shelf is a folder of documents under test.
type shelf struct {
	*Documents
	t   *testing.T
	log *bytes.Buffer
}

func newShelf(t *testing.T) *shelf {
	log := &bytes.Buffer{}
	return &shelf{
		NewDocuments(
			filepath.Join(t.TempDir(), "deep", "handoff"),
			expiry,
			slog.New(slog.NewTextHandler(log, nil)),
		),
		t,
		log,
	}
}

const web = "-home-dev-web"

func webChannel() Channel { return Channel{web, "/home/dev/web"} }

// put stores a document of an agent whose session has a similar name.
func (s *shelf) put(agent, body string, at time.Time) Document {
	s.t.Helper()
	return s.putNew(Document{Agent: agent, Body: body}, at)
}

func (s *shelf) putNew(n Document, at time.Time) Document {
	s.t.Helper()
	n.Channel, n.SessionID, n.CreatedByPID, n.WorkingDir, n.Type = web, sessionOf(n.Agent), 42, "/home/dev/web", Manual
	d, err := s.Put(n, at)
	noError(s.t, err)
	return d
}

// sessionOf returns the first session of an agent.
func sessionOf(agent string) string { return (agent + "00000000")[:8] + "-0000-4000-8000-000000000000" }

func (s *shelf) claimFree(
	agent string,
	at time.Time,
	free func(string) bool,
) (Document, bool) {
	s.t.Helper()
	d, ok, err := s.Claim(Claimant{webChannel(), agent, "next-" + agent, 43}, at, free)
	noError(s.t, err)
	return d, ok
}

// gets checks that the agent gets this body, "" for nothing.
func (s *shelf) gets(agent, body string, at time.Time) Document {
	s.t.Helper()
	d, ok := s.claimFree(agent, at, allEnded)
	if ok != (body != "") || d.Body != body {
		s.t.Fatalf("%s got %q (%v), want %q", agent, d.Body, ok, body)
	}
	return d
}

// last checks that Last returns this body, "" for nothing.
func (s *shelf) last(agent, body string) {
	s.t.Helper()
	d, ok, err := s.Last(web, agent)
	noError(s.t, err)
	if ok != (body != "") || d.Body != body {
		s.t.Fatalf("the last of %s is %q (%v), want %q", agent, d.Body, ok, body)
	}
}

func (s *shelf) path(name string) string { return filepath.Join(s.dir, name) }

func (s *shelf) read(name string) string {
	s.t.Helper()
	b, err := os.ReadFile(s.path(name))
	noError(s.t, err)
	return string(b)
}

func (s *shelf) statuses() map[string]Status {
	s.t.Helper()
	all, err := s.List(noon)
	noError(s.t, err)
	got := map[string]Status{}
	for _, d := range all {
		got[d.ID] = d.Status
	}
	return got
}

func TestPut(t *testing.T) {
	s := newShelf(t)
	d := s.putNew(Document{
		Agent: "worker",
		Path:  "/home/dev/web/PLAN.md",
		Body:  "# Plan\n\n<!-- CHANNEL: mine -->\nnext\n",
	}, noon.Add(300*time.Millisecond))
	want := Document{
		ID:           "HO-20260202-120000-worker00",
		Channel:      web,
		File:         s.path(web + "-HO-20260202-120000-worker00.md"),
		Current:      true,
		SessionID:    sessionOf("worker"),
		Agent:        "worker",
		CreatedAt:    noon,
		CreatedByPID: 42,
		WorkingDir:   "/home/dev/web",
		Type:         Manual,
		Status:       StatusActive,
		Path:         "/home/dev/web/PLAN.md",
		Body:         "# Plan\n\n<!-- CHANNEL: mine -->\nnext\n",
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	const file = `<!-- HANDOFF-ID: HO-20260202-120000-worker00 -->
<!-- SESSION: worker00-0000-4000-8000-000000000000 -->
<!-- CHANNEL: -home-dev-web -->
<!-- CREATED: 2026-02-02T12:00:00Z -->
<!-- TYPE: manual -->
<!-- WORKING-DIR: /home/dev/web -->

# Plan

<!-- CHANNEL: mine -->
next
`
	if diff := cmp.Diff(file, s.read(filepath.Base(want.File))); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	const entry = `{
    "id": "HO-20260202-120000-worker00",
    "session_id": "worker00-0000-4000-8000-000000000000",
    "agent": "worker",
    "created_at": "2026-02-02T12:00:00Z",
    "created_by_pid": 42,
    "working_dir": "/home/dev/web",
    "type": "manual",
    "status": "active",
    "original_path": "/home/dev/web/PLAN.md"
  }`
	manifest := "{\n  \"channel\": \"-home-dev-web\",\n  \"current\": " + entry + ",\n  \"agents\": {\n    \"worker\": " +
		strings.ReplaceAll(entry, "\n", "\n  ") + "\n  }\n}\n"
	if diff := cmp.Diff(manifest, s.read(web+".manifest.json")); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	noError(t, filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		info, _ := e.Info()
		want := os.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return err
	}))
}

func TestPutRefuses(t *testing.T) {
	s := newShelf(t)
	for name, n := range map[string]Document{
		"no channel":   {Agent: "a"},
		"no agent":     {Channel: "c"},
		"broken body":  {Channel: "c", Agent: "a", Body: "\xff"},
		"endless path": {Channel: "c", Agent: "a", Path: strings.Repeat("/x", 1<<20)},
		"too large":    {Channel: "c", Agent: "a", Body: strings.Repeat("x", maxBody+1)},
	} {
		if d, err := s.Put(n, noon); err == nil || d.ID != "" || len(err.Error()) > 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Lstat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was made without a document: %v", err)
	}
}

func TestClear(t *testing.T) {
	s := newShelf(t)
	if _, err := s.Clear(web, noon); !errors.Is(err, ErrNoDocument) {
		t.Errorf("without a folder: %v", err)
	}
	s.put("a", "one", noon)
	d := s.putNew(Document{Agent: "b", Executed: true, Body: "two"}, noon)
	n, err := s.Clear(web, noon)
	if err != nil || n != 2 {
		t.Errorf("cleared %d, %v", n, err)
	}
	s.gets("a", "", noon)
	s.gets("b", "", noon)
	s.gets("new", "", noon)
	s.last("b", "")
	noError(t, s.Consume(web, d.ID, "x", 1, noon))
	if got := s.statuses()[d.ID]; got != StatusCleared {
		t.Errorf("status %s", got)
	}
	if n, err := s.Clear(web, noon); n != 0 || err != nil {
		t.Errorf("again: %d, %v", n, err)
	}
	if _, err := s.Clear("nowhere", noon); !errors.Is(err, ErrNoDocument) {
		t.Errorf("got %v", err)
	}
}

func TestList(t *testing.T) {
	s := newShelf(t)
	if all, err := s.List(noon); len(all) != 0 || err != nil {
		t.Errorf("without a folder: %v, %v", all, err)
	}
	s.put("a", "one", noon.Add(-3*time.Hour))
	s.put("b", "two", noon)
	s.gets("c", "two", noon)
	_, err := s.Put(Document{
		Channel:   "api",
		Agent:     "a",
		SessionID: "x",
		Type:      Auto,
		Body:      "three",
	}, noon)
	noError(t, err)
	write(t, s.path("broken.manifest.json"), "{")
	all, err := s.List(noon)
	if err == nil || !strings.Contains(err.Error(), "broken.manifest.json") {
		t.Errorf("the error is %v", err)
	}
	want := []Document{
		{
			ID:        "HO-20260202-120000-b0000000",
			Channel:   web,
			Agent:     "b",
			ClaimedBy: "c",
			Status:    StatusActive,
			Current:   true,
			File:      s.path(web + "-HO-20260202-120000-b0000000.md"),
		},
		{
			ID:      "HO-20260202-090000-a0000000",
			Channel: web,
			Agent:   "a",
			Status:  StatusExpired,
			File:    s.path(web + "-HO-20260202-090000-a0000000.md"),
		},
		{
			ID:      "HO-20260202-120000-x0000000",
			Channel: "api",
			Agent:   "a",
			Status:  StatusActive,
			Current: true,
			File:    s.path("api-HO-20260202-120000-x0000000.md"),
		},
	}
	if diff := cmp.Diff(want, all, cmpopts.IgnoreFields(Document{}, "SessionID", "CreatedAt", "CreatedByPID", "WorkingDir", "Type",
		"ClaimedBySession", "ClaimedByPID", "ClaimedAt")); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if got := s.read("broken.manifest.json"); got != "{" {
		t.Error("listing changed something")
	}
}

// TestNamesRunTogether tests that files of a channel whose name begins with another's are
// separate.
func TestNamesRunTogether(t *testing.T) {
	s := newShelf(t)
	pairs := [][2]string{
		{"a", "b-c"},
		{"a-b", "c"},
		{"a", "b-CURRENT"},
		{"a", "CURRENT"},
		{"a", "b-c~executed"},
		{"a-HO-20260202-120000-c0000000", "c"},
	}
	for _, p := range pairs {
		_, err := s.Put(Document{
			Channel:   p[0],
			Agent:     p[1],
			SessionID: p[1],
			Executed:  true,
			Body:      p[0] + "|" + p[1],
		}, noon)
		noError(t, err)
	}
	for _, p := range pairs {
		d, ok, err := s.Claim(Claimant{Channel{Name: p[0]}, p[1], "s", 1}, noon, noneEnded)
		if !ok || err != nil || d.Body != p[0]+"|"+p[1] {
			t.Errorf("%q: got %q, %v, %v", p, d.Body, ok, err)
		}
	}
}

func TestAnotherProject(t *testing.T) {
	s := newShelf(t)
	_, err := s.Put(Document{
		Channel:    "-a-b",
		Agent:      "x",
		SessionID:  "s",
		WorkingDir: "/a-b",
		Body:       "of /a-b",
	}, noon)
	noError(t, err)
	if _, ok, err := s.Claim(
		Claimant{ChannelOf(nil, "/a/b"), "new", "s", 1},
		noon,
		allEnded,
	); ok ||
		err != nil {
		t.Errorf("another project got it: %v", err)
	}
	if _, ok, err := s.Claim(
		Claimant{ChannelOf(nil, "/a-b"), "new", "s", 1},
		noon,
		allEnded,
	); !ok ||
		err != nil {
		t.Errorf("its own did not: %v", err)
	}
}

func TestPast(t *testing.T) {
	s := newShelf(t)
	old := s.put("long ago", "x", noon)
	s.putNew(Document{Agent: "recent", Executed: true, Body: "y"}, noon.Add(24*time.Hour))
	s.put("now", "z", noon.Add(keepFor+time.Hour))
	if _, err := os.Lstat(old.File); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not removed: %v", err)
	}
	s.last("recent", "y")
	s.last("long ago", "")
	m := &manifest{Agents: map[string]*entry{}}
	for i := range keepAgents + 10 {
		set(&m.Agents, fmt.Sprint(i), Document{
			Status:    StatusConsumed,
			CreatedAt: noon.Add(time.Duration(i) * time.Second),
		})
	}
	m.Agents["0"].Status = StatusActive
	m.prune(noon.Add(time.Hour), expiry)
	if m.Agents["0"] == nil || m.Agents["1"] != nil || m.Agents["11"] == nil ||
		len(m.Agents) != keepAgents {
		t.Errorf("%d stay", len(m.Agents))
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	noError(t, os.Mkdir(open, 0o700))
	noError(t, os.Chmod(open, 0o777))
	link := filepath.Join(dir, "link")
	noError(t, os.Symlink(dir, link))
	for _, path := range []string{open, link, write(t, filepath.Join(dir, "file"), "x")} {
		d := unlogged(path)
		if _, err := d.Put(Document{Channel: "c", Agent: "a"}, noon); err == nil {
			t.Errorf("put into %s", path)
		}
		if _, _, err := d.Claim(Claimant{Channel{
			Name: "c",
		}, "a", "s", 1}, noon, allEnded); err == nil {
			t.Errorf("claimed from %s", path)
		}
	}
}
