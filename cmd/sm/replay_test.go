package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
	"sm/observer/history"
	"sm/observer/history/replay"
	"sm/transcript/transcripttest"
)

// replayed runs `sm replay --json` over a folder.
func replayed(t *testing.T, args ...string) (all []replay.Event) {
	t.Helper()
	got := execute(t, nil, append([]string{"replay", "--json"}, args...)...)
	if got.Code != exitDone {
		t.Fatalf("exit code %d: %s", got.Code, got.ErrOut)
	}
	for d := json.NewDecoder(strings.NewReader(got.Out)); d.More(); {
		var x replay.Event
		noErrors(t, d.Decode(&x))
		all = append(all, x)
	}
	return all
}

// sessionFiles returns transcripts of sessions, by their paths below a folder: generated ones
// with all peculiarities that a reader must handle, and the recorded ones.
func sessionFiles(t *testing.T) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	for seed := range uint64(3) {
		o := transcripttest.Options{
			Seed:     seed,
			Sessions: 12,
			Traps:    true,
			Copies:   true,
		}
		if _, err := transcripttest.Generate(
			filepath.Join(dir, fmt.Sprint(seed)),
			o,
		); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string][]byte{}
	add := func(root string) {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".jsonl") ||
				strings.HasPrefix(entry.Name(), "agent-") {
				return err
			}
			rel, _ := filepath.Rel(root, path) // both are absolute, or both are not
			files[filepath.Join(fmt.Sprint(len(root)), rel)], err = os.ReadFile(path)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	add(dir)
	add("../../transcript/claude/testdata/transcripts")
	return files
}

var noticeLine = regexp.MustCompile(`msg=notice key=(\S+)/(\d+)/(\w+?)(?:/\S+)? to=(\w+) mode=\w+ at=(\S+)`)

// TestReplayAgreesWithLive tests that the notices of an observer while transcripts grow line
// by line are those of a replay of the same records. A replay has a row for each compaction,
// and no notice of it for the operator.
func TestReplayAgreesWithLive(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	files := sessionFiles(t)
	dir := t.TempDir()
	for name, content := range files {
		writeFile(t, filepath.Join(dir, name), content)
	}
	said := func(path string, cycle int, kind, to string, at time.Time) string {
		return fmt.Sprintf(
			"%s cycle %d: %s to %s at %s",
			strings.TrimSuffix(filepath.Base(path), ".jsonl"),
			cycle,
			kind,
			to,
			at.UTC().Format(time.RFC3339Nano),
		)
	}
	var want, order []string
	for _, x := range replayed(t, dir) {
		if x.Event == "notice" {
			want = append(want, said(x.Path, x.Cycle, x.Kind, x.To, *x.At))
		}
	}
	order = replayOrder(t, dir)
	d := newDaemon(t)
	d.start()
	slices.Sort(want)
	got, again := lived(t, dir, order, files, said)
	for n := 0; again && n < 5; n++ { // on a loaded machine
		got, again = lived(t, dir, order, files, said)
	}
	if again {
		t.Fatal("in each run some file was read again, which reports old records as history")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notices (-replay +live):\n%s", diff)
	}
	if len(want) < 12 {
		t.Errorf("got %d notices, want 12 or more", len(want))
	}
}

// lived returns the notices of an observer while the files grow in that order. again means
// that it has read one of them again, and counted its records as history.
func lived(t *testing.T, dir string, order []string, files map[string][]byte,
	said func(path string, cycle int, kind, to string, at time.Time) string,
) (got []string, again bool) {
	t.Helper()
	d := newDaemon(t)
	d.vars = []string{"SM_OPERATOR_COMPACTIONS=false"}
	d.start()
	whole := scanJSON(t, dir)
	bytesWritten := 0
	for _, name := range order {
		grow(t, d, name, files[name], whole[filepath.Join(dir, name)])
		bytesWritten += len("{}\n") + bytes.LastIndexByte(files[name], '\n') + 1
	}
	again = int(d.series()["sm_transcript_bytes_total"]) > bytesWritten
	if code := d.end(syscall.SIGTERM); code != exitDone {
		t.Fatalf("exit code %d", code)
	}
	for _, m := range noticeLine.FindAllStringSubmatch(d.log(1<<30), -1) {
		at, err := time.Parse(time.RFC3339Nano, m[5])
		noErrors(t, err)
		var cycle int
		if _, err := fmt.Sscan(m[2], &cycle); err != nil {
			t.Fatal(err)
		}
		got = append(got, said(m[1], cycle, m[3], m[4], at))
	}
	slices.Sort(got)
	return got, again
}

// replayOrder returns the files in the order of a replay.
func replayOrder(t *testing.T, dir string) (names []string) {
	t.Helper()
	changes, err := history.Records(t.Context(), history.Options{
		Clients: clientTable(nil, nil, nil),
	}, []string{dir})
	noErrors(t, err)
	for _, c := range changes {
		name, err := filepath.Rel(dir, c.Cursor.Path)
		noErrors(t, err)
		names = append(names, name)
	}
	return names
}

// grow writes a transcript line by line, until the observer has the figures of a scan. The
// content of a file when it is found is history: so the file begins with a line without
// meaning.
func grow(t *testing.T, d *daemon, name string, content []byte, whole scanned) {
	t.Helper()
	path := filepath.Join(d.projects, name)
	writeFile(t, path, []byte("{}\n"))
	d.eventually("found", func() string {
		if !slices.ContainsFunc(
			d.sessions(),
			func(s api.Session) bool { return s.TranscriptPath == path },
		) {
			return name
		}
		return ""
	})
	d.post("/hooks/claude", map[string]string{ // else the agent is only watched
		"hook_event_name": "PreToolUse",
		"session_id":      strings.TrimSuffix(filepath.Base(name), ".jsonl"),
	})
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	noErrors(t, err)
	defer f.Close()
	for line := range bytes.Lines(content) {
		if _, err := f.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	d.eventually("read", func() string {
		for _, s := range d.sessions() {
			if s.TranscriptPath != path || s.Inherited+s.Compactions.Auto+s.Compactions.Manual+s.Compactions.Unknown !=
				whole.Inherited+whole.Compactions.Auto+whole.Compactions.Manual+whole.Compactions.Unknown {
				continue
			}
			if s.PeakTokens == whole.Peak && s.Turns == whole.Turns &&
				stamp(s.LastActive) == stamp(whole.LastActivity) {
				return ""
			}
		}
		return name
	})
}

// sessions returns the observer's sessions.
func (d *daemon) sessions() []api.Session {
	d.t.Helper()
	all, err := d.api.Sessions(d.t.Context())
	noErrors(d.t, err)
	return all.Sessions
}
