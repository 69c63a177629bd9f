package handoff

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// rejected checks that the worker gets nothing, and the reason in the error.
func (s *shelf) rejected(why string) {
	s.t.Helper()
	d, ok, err := s.Claim(Claimant{webChannel(), "worker", "x", 1}, noon, allEnded)
	if ok || d.Body != "" || err == nil || !strings.Contains(err.Error(), why) {
		s.t.Errorf("got %+v, %v, %v; want %s", d, ok, err, why)
	}
}

// TestManifestAndFileDiffer tests that a document that differs from its manifest is rejected.
func TestManifestAndFileDiffer(t *testing.T) {
	s := newShelf(t)
	d := s.put("worker", "plan", noon)
	text := s.read(filepath.Base(d.File))
	write(
		t,
		d.File,
		strings.Replace(text, d.ID, "HO-20260202-120000-stranger", 1),
	)
	s.rejected("another document")
	write(t, d.File, "just text")
	s.rejected("another document")
	write(
		t,
		d.File,
		strings.Replace(text, "CHANNEL: "+web, "CHANNEL: other", 1),
	)
	s.rejected("another document")
	write(t, d.File, text)
	s.gets("worker", "plan", noon)
	noError(t, os.Remove(d.File))
	s.rejected("no such file")
	noError(t, os.Mkdir(d.File, 0o700))
	s.rejected("not a regular file")
}

// aside returns the text of the nth file that was set aside.
func (s *shelf) aside(n int) string {
	s.t.Helper()
	paths, err := filepath.Glob(s.path(web + ".manifest.json.damaged-*"))
	noError(s.t, err)
	if len(paths) <= n {
		s.t.Fatalf("set aside: %q", paths)
	}
	return s.read(filepath.Base(paths[n]))
}

func TestDamagedManifest(t *testing.T) {
	for name, damage := range map[string]string{
		"empty": "", "cut": `{"channel":"-home`, "null": "null", "wrong types": `{"channel":"-home-dev-web","current":[1]}`,
		"no time": `{"channel":"-home-dev-web","current":{"id":"x","created_at":"yesterday"}}`, "huge": strings.Repeat(
			" ",
			maxManifest+1,
		), "not UTF-8": "\xff\xfe",
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			plan := s.put("worker", "plan", noon.Add(-time.Minute))
			write(t, s.path(web+".manifest.json"), damage)
			s.gets("worker", "", noon)
			if got := s.aside(0); got != damage {
				t.Errorf("%d bytes were kept", len(got))
			}
			if !strings.Contains(s.log.String(), "damaged") {
				t.Error("got no error in the log")
			}
			s.put("worker", "again", noon)
			s.gets("worker", "again", noon)
			write(t, s.path(web+".manifest.json"), damage)
			s.put("worker", "third", noon)
			if got := s.aside(1); got != damage {
				t.Errorf("%d bytes were kept of the second", len(got))
			}
			if _, err := os.Lstat(plan.File); err != nil {
				t.Errorf("the document of the damaged manifest was removed: %v", err)
			}
		})
	}
}

// TestIrregularManifest tests that a manifest that is no file is also set aside, without
// waiting for it.
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

// TestUnknownMembers tests that members written by a newer version are kept.
func TestUnknownMembers(t *testing.T) {
	s := newShelf(t)
	s.put("worker", "plan", noon)
	text := s.read(web + ".manifest.json")
	text = strings.Replace(
		text,
		`"channel":`,
		`"version": 7, "Channel": "upper case", "channel":`,
		1,
	)
	text = strings.ReplaceAll(
		text,
		`"status": "active"`,
		`"status": "active", "weight": {"a": [1, null]}, "STATUS": "x"`,
	)
	write(t, s.path(web+".manifest.json"), text)
	d := s.gets("worker", "plan", noon)
	noError(t, s.Consume(web, d.ID, "next-worker", 1, noon))
	s.put("other", "x", noon)
	got := s.read(web + ".manifest.json")
	for part, n := range map[string]int{
		`"version": 7`:            1,
		`"Channel": "upper case"`: 1,
		`"STATUS": "x"`:           1,
		`"weight": {`:             1,
	} {
		if strings.Count(got, part) != n {
			t.Errorf("want %[1]s %[2]d times in %[3]s", part, n, got)
		}
	}
	unknown := strings.Replace(got, `"status": "active"`, `"status": "paused"`, -1)
	write(t, s.path(web+".manifest.json"), unknown)
	s.gets("other", "", noon)
}

// TestManifestOfScripts reads manifests written by other scripts.
func TestManifestOfScripts(t *testing.T) {
	s := newShelf(t)
	noError(t, os.MkdirAll(s.dir, 0o700))
	write(t, s.path("global.manifest.json"), `{
  "channel": "global",
  "current": {"id": "HO-20260202-064530-c74cc080", "session_id": "c74cc080-94b9-4841-b82f-a62cfb8efdc0", "created_at": "2026-02-02T06:45:30Z",
    "created_by_pid": 12345, "working_dir": "/home/dev", "type": "auto", "status": "active"}
}`)
	write(
		t,
		s.path("global-HO-20260202-064530-c74cc080.md"),
		"<!-- HANDOFF-ID: HO-20260202-064530-c74cc080 -->\n<!-- SESSION: c74cc080-94b9-4841-b82f-a62cfb8efdc0 -->\n\nbody\n",
	)
	at := time.Date(2026, 2, 2, 7, 0, 0, 0, time.UTC)
	d, ok, err := s.Claim(Claimant{Channel{"global", "/home/dev"}, "new", "s", 1}, at, noneEnded)
	if ok || err != nil {
		t.Errorf("got a document though no owner has ended: %v", err)
	}
	d, ok, err = s.Claim(
		Claimant{Channel{"global", "/home/dev"}, "new", "s", 1},
		at,
		allEnded,
	)
	if !ok || err != nil || d.Body != "body\n" || d.Type != Auto {
		t.Errorf("got %+v, %v, %v", d, ok, err)
	}
	noError(t, s.Consume("global", d.ID, "s", 1, at))

	write(t, d.File, "<!-- HANDOFF-ID: HO-20260202-064530-c74cc080 -->\n# Title\n\nbody\n")
	d, ok, err = s.Current("global")
	if !ok || err != nil || d.Body != "# Title\n\nbody\n" {
		t.Errorf("without an empty line: got %+v, %v, %v", d, ok, err)
	}
}
