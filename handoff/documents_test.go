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

// shelf is a folder of documents under test.
type shelf struct {
	*Documents
	t   *testing.T
	log *bytes.Buffer
}

func newShelf(t *testing.T) *shelf {
	log := &bytes.Buffer{}
	return &shelf{NewDocuments(filepath.Join(t.TempDir(), "deep", "handoff"), 0, slog.New(slog.NewTextHandler(log, nil))), t, log}
}

const web = "-home-dev-web"

func webChannel() Channel { return Channel{web, "/home/dev/web"} }

// put stores a document of an agent whose session is named like it.
func (s *shelf) put(agent, body string, at time.Time) Document {
	s.t.Helper()
	return s.putNew(NewDocument{Agent: agent, Body: body}, at)
}

func (s *shelf) putNew(n NewDocument, at time.Time) Document {
	s.t.Helper()
	n.Channel, n.SessionID, n.PID, n.WorkingDir, n.Type = web, sessionOf(n.Agent), 42, "/home/dev/web", Manual
	d, err := s.Put(n, at)
	noError(s.t, err)
	return d
}

// sessionOf is the first session of an agent.
func sessionOf(agent string) string { return (agent + "00000000")[:8] + "-0000-4000-8000-000000000000" }

func (s *shelf) claimFree(agent string, at time.Time, free func(string) bool) (Document, bool) {
	s.t.Helper()
	d, ok, err := s.Claim(Claimant{webChannel(), agent, "next-" + agent, 43}, at, free)
	noError(s.t, err)
	return d, ok
}

// gets wants the agent to get this body, "" for nothing.
func (s *shelf) gets(agent, body string, at time.Time) Document {
	s.t.Helper()
	d, ok := s.claimFree(agent, at, everybody)
	if ok != (body != "") || d.Body != body {
		s.t.Fatalf("%s got %q (%v), want %q", agent, d.Body, ok, body)
	}
	return d
}

// last wants Last to give this body, "" for nothing.
func (s *shelf) last(agent, body string, at time.Time) {
	s.t.Helper()
	d, ok, err := s.Last(web, agent, at)
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
	d := s.putNew(NewDocument{Agent: "worker", Path: "/home/dev/web/PLAN.md", Body: "# Plan\n\n<!-- CHANNEL: mine -->\nnext\n"}, noon.Add(300*time.Millisecond))
	want := Document{
		ID: "HO-20260202-120000-worker00", Channel: web, File: s.path(web + "-worker.md"), Current: true, SessionID: sessionOf("worker"), Agent: "worker",
		CreatedAt: noon, CreatedByPID: 42, WorkingDir: "/home/dev/web", Type: Manual, Status: StatusActive, Path: "/home/dev/web/PLAN.md",
		Body: "# Plan\n\n<!-- CHANNEL: mine -->\nnext\n",
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
	for _, name := range []string{web + "-CURRENT.md", web + "-worker.md"} {
		if diff := cmp.Diff(file, s.read(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
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
	for name, n := range map[string]NewDocument{
		"no channel":      {Agent: "a"},
		"no agent":        {Channel: "c"},
		"broken agent":    {Channel: "c", Agent: "\xff"},
		"broken body":     {Channel: "c", Agent: "a", Body: "\xff"},
		"endless path":    {Channel: "c", Agent: "a", Path: strings.Repeat("/x", 1<<20)},
		"too large":       {Channel: "c", Agent: "a", Body: strings.Repeat("x", bodyMost+1)},
		"endless session": {Channel: "c", Agent: "a", SessionID: strings.Repeat("x", 1<<20)},
	} {
		if d, err := s.Put(n, noon); err == nil || d.ID != "" || len(err.Error()) > 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Lstat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was made for nothing: %v", err)
	}
}

// TestClaim is the life of a document: made, given, given again, heard.
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
	s.gets("worker", "one", noon.Add(2*time.Minute)) // until it is heard
	s.gets("other", "", noon.Add(3*time.Minute))
	noError(t, s.Consume(web, d.ID, "next-worker", 44, noon.Add(4*time.Minute)))
	s.gets("worker", "", noon.Add(5*time.Minute))
	s.gets("other", "", noon.Add(5*time.Minute))
	s.last("worker", "one", noon.Add(48*time.Hour))
	for _, part := range []string{`"status": "consumed"`, `"consumed_by_pid": 44`, `"consumed_at": "2026-02-02T12:04:00Z"`} {
		if text := s.read(web + ".manifest.json"); strings.Count(text, part) != 3 { // current, agents, executed
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
	if _, ok := s.claimFree("new", noon, func(agent string) bool { asked = agent; return false }); ok || asked != "old" {
		t.Fatalf("given while its owner %q runs", asked)
	}
	got := s.gets("new", "left behind", noon)
	if got.ID != d.ID || got.Agent != "old" || got.ClaimedBy != "new" || got.File != s.path(web+"-new.md") {
		t.Errorf("got %+v", got)
	}
	s.gets("old", "", noon)
	s.gets("third", "", noon)
	s.put("third", "another", noon.Add(time.Second)) // takes the current file
	s.gets("new", "left behind", noon.Add(time.Second))
	s.gets("third", "another", noon.Add(time.Second))
	noError(t, s.Consume(web, d.ID, "next-new", 1, noon))
	s.gets("new", "", noon)
	s.last("new", "left behind", noon)
	s.last("old", "", noon)
}

// TestClaimNameless: what nobody has claimed would be given to everybody.
func TestClaimNameless(t *testing.T) {
	s := newShelf(t)
	s.put("old", "plan", noon)
	for _, c := range []Claimant{{Channel: webChannel()}, {Agent: "new"}, {Channel: Channel{Path: "/home/dev/web"}, Agent: "new"}} {
		if d, ok, err := s.Claim(c, noon, everybody); ok || err == nil {
			t.Errorf("%+v got %+v", c, d)
		}
	}
	if _, ok := s.claimFree("new", noon, nil); ok {
		t.Error("nobody is free by nobody's word")
	}
	s.gets("new", "plan", noon)
}

// TestClaimOwn: an agent that has had a document is not new to the channel.
func TestClaimOwn(t *testing.T) {
	s := newShelf(t)
	d := s.put("worker", "mine", noon)
	s.gets("worker", "mine", noon)
	noError(t, s.Consume(web, d.ID, "next-worker", 1, noon))
	s.put("other", "theirs", noon.Add(time.Second))
	s.gets("worker", "", noon.Add(time.Second))
	s.gets("new", "theirs", noon.Add(time.Second))
}

func TestNewestWins(t *testing.T) {
	s := newShelf(t)
	s.put("worker", "first", noon)
	s.put("worker", "second", noon)
	d := s.put("worker", "third", noon)
	if d.ID != "HO-20260202-120002-worker00" {
		t.Errorf("the third of one second is %s", d.ID)
	}
	s.gets("worker", "third", noon)
	if got := s.statuses(); len(got) != 1 || got[d.ID] != StatusActive {
		t.Errorf("got %v", got)
	}
}

func TestDocumentID(t *testing.T) {
	const first = "HO-20260202-120000-c74cc080"
	for _, c := range []struct {
		name, session string
		taken         []string
		want          string
	}{
		{"first", "c74cc080-94b9-4841-b82f-a62cfb8efdc0", nil, first},
		{"another session's", "c74cc080-94b9", []string{"HO-20260202-120000-d85dd191"}, first},
		{"taken", "c74cc080-94b9", []string{first}, "HO-20260202-120001-c74cc080"},
		{"later ones taken", "c74cc080-94b9", []string{"HO-20260202-120005-c74cc080", first}, "HO-20260202-120006-c74cc080"},
		{"by a clock ahead", "c74cc080-94b9", []string{"HO-99991231-235959-c74cc080", "HO-20270101-000000-c74cc080"}, first},
		{"no id", "c74cc080-94b9", []string{"", "HO-", "HO-20269902-120000-c74cc080"}, first},
		{"short", "ab", nil, "HO-20260202-120000-ab000000"},
		{"none", "", nil, "HO-20260202-120000-00000000"},
		{"hostile", "../\n../é", nil, "HO-20260202-120000-00000000"},
	} {
		if got := documentID(c.session, noon.In(time.FixedZone("", 3600)), c.taken); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestExecuted(t *testing.T) {
	s := newShelf(t)
	d := s.putNew(NewDocument{Agent: "worker", Executed: true, Body: "by handoff"}, noon)
	s.gets("new", "", noon) // its own agent's from the start
	s.last("worker", "by handoff", noon)
	s.gets("worker", "by handoff", noon)
	noError(t, s.Consume(web, d.ID, "a session that is new", 7, noon))
	s.gets("worker", "", noon)
	// One that is made before a compaction does not take its place.
	s.put("worker", "automatic", noon.Add(time.Second))
	s.last("worker", "by handoff", noon.Add(24*time.Hour))
	s.last("new", "", noon)
}

// TestExecutedLate: the proof may come when another document is the agent's already.
func TestExecutedLate(t *testing.T) {
	s := newShelf(t)
	first := s.putNew(NewDocument{Agent: "worker", Executed: true, Body: "first"}, noon)
	second := s.put("worker", "second", noon.Add(time.Second))
	noError(t, s.Consume(web, first.ID, "x", 1, noon.Add(2*time.Second)))
	s.last("worker", "first", noon)
	s.gets("worker", "second", noon)
	noError(t, s.Consume(web, second.ID, "next-worker", 1, noon.Add(3*time.Second)))
	s.last("worker", "second", noon)
}

// TestHandoffExpiry is a safety limit of seed 002: nothing older than two hours is given.
func TestHandoffExpiry(t *testing.T) {
	s := newShelf(t)
	d := s.put("worker", "old", noon)
	s.gets("worker", "old", noon.Add(2*time.Hour))
	s.gets("worker", "", noon.Add(2*time.Hour+time.Second))
	s.gets("new", "", noon.Add(2*time.Hour+time.Second))
	if got := strings.Count(s.read(web+".manifest.json"), `"status": "expired"`); got != 2 {
		t.Errorf("%d entries are marked as expired", got)
	}
	s.gets("worker", "", noon) // for good
	// It was given before, so it may turn out to have been heard.
	noError(t, s.Consume(web, d.ID, "next-worker", 1, noon.Add(3*time.Hour)))
	s.last("worker", "old", noon)
	s.put("worker", "from the future", noon.Add(9*time.Hour))
	s.gets("worker", "", noon)
}

// TestSessionIDMismatch: the word of a session that was not given the document last does
// not count.
func TestSessionIDMismatch(t *testing.T) {
	s := newShelf(t)
	d := s.put("worker", "plan", noon)
	s.gets("worker", "plan", noon)
	if err := s.Consume(web, d.ID, "somebody", 1, noon); !errors.Is(err, ErrOtherSession) {
		t.Errorf("got %v", err)
	}
	s.gets("worker", "plan", noon)
	for _, id := range []string{"HO-20260202-115959-worker00", ""} {
		if err := s.Consume(web, id, "next-worker", 1, noon); !errors.Is(err, ErrNoDocument) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if err := s.Consume("nowhere", d.ID, "next-worker", 1, noon); !errors.Is(err, ErrNoDocument) {
		t.Errorf("got %v", err)
	}
}

func TestClear(t *testing.T) {
	s := newShelf(t)
	if _, err := s.Clear(web, noon); !errors.Is(err, ErrNoDocument) {
		t.Errorf("without a folder: %v", err)
	}
	s.put("a", "one", noon)
	d := s.putNew(NewDocument{Agent: "b", Executed: true, Body: "two"}, noon)
	n, err := s.Clear(web, noon)
	if err != nil || n != 2 {
		t.Errorf("cleared %d, %v", n, err)
	}
	s.gets("a", "", noon)
	s.gets("b", "", noon)
	s.gets("new", "", noon)
	s.last("b", "", noon)
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
	_, err := s.Put(NewDocument{Channel: "api", Agent: "a", SessionID: "x", Type: Auto, Body: "three"}, noon)
	noError(t, err)
	write(t, s.path("broken.manifest.json"), "{")
	all, err := s.List(noon)
	if err == nil || !strings.Contains(err.Error(), "broken.manifest.json") {
		t.Errorf("the error is %v", err)
	}
	want := []Document{
		{ID: "HO-20260202-120000-b0000000", Channel: web, Agent: "b", ClaimedBy: "c", Status: StatusActive, Current: true, File: s.path(web + "-c.md")},
		{ID: "HO-20260202-090000-a0000000", Channel: web, Agent: "a", Status: StatusExpired, File: s.path(web + "-a.md")},
		{ID: "HO-20260202-120000-x0000000", Channel: "api", Agent: "a", Status: StatusActive, Current: true, File: s.path("api-a.md")},
	}
	if diff := cmp.Diff(want, all, cmpopts.IgnoreFields(Document{}, "SessionID", "CreatedAt", "CreatedByPID", "WorkingDir", "Type",
		"ClaimedBySession", "ClaimedByPID", "ClaimedAt")); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if got := s.read("broken.manifest.json"); got != "{" {
		t.Error("listing changed something")
	}
}

func TestCurrent(t *testing.T) {
	s := newShelf(t)
	if _, ok, err := s.Current(web, noon); ok || err != nil {
		t.Errorf("without a folder: %v, %v", ok, err)
	}
	s.put("a", "one", noon)
	s.put("b", "two", noon)
	if d, ok, err := s.Current(web, noon); !ok || err != nil || d.Body != "two" || !d.Current {
		t.Errorf("got %+v, %v, %v", d, ok, err)
	}
}

// TestFileDisappears is a race of seed 002: the session starts without.
func TestFileDisappears(t *testing.T) {
	s := newShelf(t)
	s.put("worker", "plan", noon)
	noError(t, os.Remove(s.path(web+"-worker.md")))
	s.rejected("worker", "", fs.ErrNotExist)
	noError(t, os.Mkdir(s.path(web+"-worker.md"), 0o700))
	s.rejected("worker", "", errIrregular)
}

// rejected wants the agent to get nothing, and the error to tell why.
func (s *shelf) rejected(agent, found string, cause error) {
	s.t.Helper()
	d, ok, err := s.Claim(Claimant{webChannel(), agent, "x", 1}, noon, everybody)
	r, typed := errors.AsType[*RejectedError](err)
	if ok || d.Body != "" || !typed || r.Found != found || cause != nil && !errors.Is(err, cause) {
		s.t.Errorf("got %+v, %v, %v", d, ok, err)
	}
}

// TestManifestAndFileDiffer is a race of seed 002: the document is rejected.
func TestManifestAndFileDiffer(t *testing.T) {
	s := newShelf(t)
	d := s.put("worker", "plan", noon)
	text := s.read(web + "-worker.md")
	write(t, s.path(web+"-worker.md"), strings.Replace(text, d.ID, "HO-20260202-120000-stranger", 1))
	s.rejected("worker", "HO-20260202-120000-stranger", nil)
	write(t, s.path(web+"-worker.md"), "just text")
	s.rejected("worker", "", errNoHeader)
	write(t, s.path(web+"-worker.md"), strings.Replace(text, "CHANNEL: "+web, "CHANNEL: other", 1))
	s.rejected("worker", d.ID, nil)
	write(t, s.path(web+"-worker.md"), text)
	s.gets("worker", "plan", noon)
}

func TestDamagedManifest(t *testing.T) {
	for name, damage := range map[string]string{
		"empty": "", "cut": `{"channel":"-home`, "list": "[]", "null": "null", "wrong types": `{"channel":"-home-dev-web","current":[1]}`,
		"no time": `{"channel":"-home-dev-web","current":{"id":"x","created_at":"yesterday"}}`, "no id": `{"channel":"-home-dev-web","agents":{"a":{}}}`,
		"huge": strings.Repeat(" ", manifestMost+1), "not UTF-8": "\xff\xfe",
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			s.put("worker", "plan", noon)
			write(t, s.path(web+".manifest.json"), damage)
			s.gets("worker", "", noon)
			if got := s.read(web + ".manifest.json.damaged-20260202-120000"); got != damage {
				t.Errorf("%d bytes were kept", len(got))
			}
			if !strings.Contains(s.log.String(), "damaged") {
				t.Error("nobody was told")
			}
			s.put("worker", "again", noon)
			s.gets("worker", "again", noon)
			write(t, s.path(web+".manifest.json"), damage)
			s.put("worker", "third", noon)
			if got := s.read(web + ".manifest.json.damaged-20260202-120000-2"); got != damage {
				t.Errorf("%d bytes were kept of the second", len(got))
			}
		})
	}
}

// TestIrregularManifest: what is no file is moved away too, and nothing waits for it.
func TestIrregularManifest(t *testing.T) {
	s := newShelf(t)
	s.put("worker", "plan", noon)
	name := s.path(web + ".manifest.json")
	noError(t, os.Remove(name))
	noError(t, os.Symlink("/dev/zero", name))
	s.gets("worker", "", noon)
	s.put("worker", "again", noon)
	s.gets("worker", "again", noon)
}

// TestUnknownMembers: what a newer version writes outlives this one's writing.
func TestUnknownMembers(t *testing.T) {
	s := newShelf(t)
	s.put("worker", "plan", noon)
	text := s.read(web + ".manifest.json")
	text = strings.Replace(text, `"channel":`, `"version": 7, "Channel": "upper case", "channel":`, 1)
	text = strings.ReplaceAll(text, `"status": "active"`, `"status": "active", "weight": {"a": [1, null]}, "STATUS": "x"`)
	write(t, s.path(web+".manifest.json"), text)
	d := s.gets("worker", "plan", noon)
	noError(t, s.Consume(web, d.ID, "next-worker", 1, noon))
	s.put("other", "x", noon)
	got := s.read(web + ".manifest.json")
	for part, n := range map[string]int{`"version": 7`: 1, `"Channel": "upper case"`: 1, `"STATUS": "x"`: 1, `"weight": {`: 1} {
		if strings.Count(got, part) != n {
			t.Errorf("%s is not %d times in %s", part, n, got)
		}
	}
	unknown := strings.Replace(got, `"status": "active"`, `"status": "paused"`, -1)
	write(t, s.path(web+".manifest.json"), unknown)
	s.gets("other", "", noon)
}

// TestSeedManifest reads what the scripts of seed 002 leave.
func TestSeedManifest(t *testing.T) {
	s := newShelf(t)
	noError(t, os.MkdirAll(s.dir, 0o700))
	write(t, s.path("global.manifest.json"), `{
  "channel": "global",
  "current": {"id": "HO-20260202-064530-c74cc080", "session_id": "c74cc080-94b9-4841-b82f-a62cfb8efdc0", "created_at": "2026-02-02T06:45:30Z",
    "created_by_pid": 12345, "working_dir": "/home/dev", "type": "auto", "status": "active"}
}`)
	write(t, s.path("global-CURRENT.md"), "<!-- HANDOFF-ID: HO-20260202-064530-c74cc080 -->\n<!-- SESSION: c74cc080-94b9-4841-b82f-a62cfb8efdc0 -->\n\nbody\n")
	at := time.Date(2026, 2, 2, 7, 0, 0, 0, time.UTC)
	d, ok, err := s.Claim(Claimant{Channel{"global", "/home/dev"}, "new", "s", 1}, at, nobody)
	if ok || err != nil {
		t.Errorf("given though nobody is free: %v", err)
	}
	d, ok, err = s.Claim(Claimant{Channel{"global", "/home/dev"}, "new", "s", 1}, at, everybody)
	if !ok || err != nil || d.Body != "body\n" || d.Type != Auto {
		t.Errorf("got %+v, %v, %v", d, ok, err)
	}
	noError(t, s.Consume("global", d.ID, "s", 1, at))
}

// TestNamesRunTogether: channel a with agent b-c, and channel a-b with agent c.
func TestNamesRunTogether(t *testing.T) {
	s := newShelf(t)
	pairs := [][2]string{{"a", "b-c"}, {"a-b", "c"}, {"a", "b-CURRENT"}, {"a-b", "d"}, {"a", "CURRENT"}, {"a", "current"}, {"a", "b-c~executed"}}
	for _, p := range pairs {
		_, err := s.Put(NewDocument{Channel: p[0], Agent: p[1], SessionID: p[1], Executed: true, Body: p[0] + "|" + p[1]}, noon)
		noError(t, err)
	}
	for _, p := range pairs {
		d, ok, err := s.Claim(Claimant{Channel{Name: p[0]}, p[1], "s", 1}, noon, nobody)
		if !ok || err != nil || d.Body != p[0]+"|"+p[1] {
			t.Errorf("%q: got %q, %v, %v", p, d.Body, ok, err)
		}
		d, ok, err = s.Last(p[0], p[1], noon)
		if !ok || err != nil || d.Body != p[0]+"|"+p[1] {
			t.Errorf("last of %q: got %q, %v, %v", p, d.Body, ok, err)
		}
	}
}

// TestHostileNames: any channel and any agent have files of their own in the folder.
func TestHostileNames(t *testing.T) {
	s := newShelf(t)
	names := []string{
		"..", ".", "../../etc/passwd", "/etc/passwd", "a/b", `a\b`, ".hidden", "%2e", "~", "new\nline", "esc\x1b[2J", "\u202egpj", " ",
		"日本語", strings.Repeat("x", 500), strings.Repeat("x", 501), strings.Repeat("日", 200), "CON", "a\x00b", "-rf", "x.manifest.json",
	}
	for _, channel := range names {
		for _, agent := range names {
			_, err := s.Put(NewDocument{Channel: channel, Agent: agent, SessionID: "s", Body: channel + "|" + agent}, noon)
			noError(t, err)
		}
	}
	for _, channel := range names {
		for _, agent := range names {
			d, ok, err := s.Claim(Claimant{Channel{Name: channel}, agent, "s", 1}, noon, nobody)
			if !ok || err != nil || d.Body != channel+"|"+agent {
				t.Fatalf("%q %q: got %q, %v, %v", channel, agent, d.Body, ok, err)
			}
			if filepath.Dir(d.File) != s.dir {
				t.Errorf("%q %q is kept in %q", channel, agent, d.File)
			}
		}
	}
}

func TestAnotherProject(t *testing.T) {
	s := newShelf(t)
	_, err := s.Put(NewDocument{Channel: "-a-b", Agent: "x", SessionID: "s", WorkingDir: "/a-b", Body: "of /a-b"}, noon)
	noError(t, err)
	if _, ok, err := s.Claim(Claimant{ChannelOf(nil, "/a/b"), "new", "s", 1}, noon, everybody); ok || err != nil {
		t.Errorf("another project got it: %v", err)
	}
	if _, ok, err := s.Claim(Claimant{ChannelOf(nil, "/a-b"), "new", "s", 1}, noon, everybody); !ok || err != nil {
		t.Errorf("its own did not: %v", err)
	}
}

func TestPast(t *testing.T) {
	s := newShelf(t)
	s.put("long ago", "x", noon)
	s.putNew(NewDocument{Agent: "recent", Executed: true, Body: "y"}, noon.Add(24*time.Hour))
	s.put("now", "z", noon.Add(keepFor+time.Hour))
	if _, err := os.Lstat(s.path(web + "-long ago.md")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	s.last("recent", "y", noon.Add(keepFor+time.Hour))
	s.last("long ago", "", noon)
	m := &manifest{Agents: map[string]*entry{}}
	for i := range keepAgents + 10 {
		m.set(&m.Agents, fmt.Sprint(i), Document{Status: StatusConsumed, CreatedAt: noon.Add(time.Duration(i) * time.Second)})
	}
	m.Agents["0"].Status = StatusActive
	if got := m.prune(noon.Add(time.Hour), DefaultExpiry); len(got) != 10 || got[0] != "1" || len(m.Agents) != keepAgents {
		t.Errorf("pruned %v, %d stay", got, len(m.Agents))
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
		d := NewDocuments(path, 0, nil)
		if _, err := d.Put(NewDocument{Channel: "c", Agent: "a"}, noon); err == nil {
			t.Errorf("put into %s", path)
		}
		if _, _, err := d.Claim(Claimant{Channel{Name: "c"}, "a", "s", 1}, noon, everybody); err == nil {
			t.Errorf("claimed from %s", path)
		}
	}
}
