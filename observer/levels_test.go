package observer

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
)

// levelFiles returns the files for scripts, by name. Unfinished files are hidden.
func (r *rig) levelFiles() map[string]string {
	r.t.Helper()
	files := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(r.o.State, "context-status", "[^.]*"))
	noErrors(r.t, err)
	for _, path := range paths {
		if b, err := os.ReadFile(path); err == nil { // otherwise it has just been removed
			files[filepath.Base(path)] = string(b)
		}
	}
	return files
}

// untilLevels waits until the files have the expected content.
func (r *rig) untilLevels(what string, want map[string]string) {
	r.t.Helper()
	var got map[string]string
	end := time.Now().Add(patience - time.Second) // so that the difference is shown
	r.until(what, func() bool {
		got = r.levelFiles()
		return maps.Equal(want, got) || time.Now().After(end)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Fatalf("level files: %s (-want +got):\n%s", what, diff)
	}
}

// TestLevelFiles follows an agent through all levels and a compaction. The format is a
// contract with scripts.
func TestLevelFiles(t *testing.T) {
	t.Parallel()
	r := newWatched(t).start()
	r.joins("em", "")
	r.until("the level is unknown", func() bool { return r.levelFiles()["em"] == "" })
	for _, c := range []struct {
		percent int
		want    string
	}{
		{8, "ok:8:16000\n"},
		{40, "early_warn:40:80000\n"},
		{52, "warn:52:104000\n"},
		{66, "critical:66:132000\n"},
	} {
		r.uses("em", c.percent)
		r.untilLevels(c.want, map[string]string{"em": c.want})
	}
	r.happens("em", "compaction")
	r.happens("em", "compaction_complete")
	r.untilLevels("unknown after a compaction", map[string]string{"em": "ok::\n"})
	r.uses("em", 20)
	r.untilLevels("known again", map[string]string{"em": "ok:20:40000\n"})
	info, err := os.Stat(filepath.Join(r.o.State, "context-status", "em"))
	noErrors(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// TestLevelFilesAgain tests that level files follow from the state: missing, wrong and
// foreign ones are corrected at the next start.
func TestLevelFilesAgain(t *testing.T) {
	t.Parallel()
	for name, end := range restarts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newWatched(t).start()
			for _, id := range []string{"a", "b", "c"} {
				r.joins(id, "")
				r.uses(id, 52)
			}
			want := map[string]string{
				"a": "warn:52:104000\n",
				"b": "warn:52:104000\n",
				"c": "warn:52:104000\n",
			}
			r.untilLevels("at first", want)
			r.joins("c", "") // answered once all earlier changes are stored
			end(r)
			dir := filepath.Join(r.o.State, "context-status")
			noErrors(t, os.Remove(filepath.Join(
				dir,
				"a",
			)), os.WriteFile(
				filepath.Join(dir, "b"),
				[]byte("ok:1:2000\n"),
				0o600,
			),
				os.WriteFile(filepath.Join(dir, "nobody"), []byte("warn:52:104000\n"), 0o600))
			r.start()
			r.untilLevels("after the start", want)
		})
	}
}

// TestLevelFilesOfADryRun tests that levels are written, and no notice is sent.
func TestLevelFilesOfADryRun(t *testing.T) {
	t.Parallel()
	r := newWatched(t)
	r.o.DryRun = true
	r.o.Alerts.Storm = alerts.Storm{}
	r.start()
	r.joins("em", "")
	r.uses("em", 52)
	r.untilLevels("of a dry run", map[string]string{"em": "warn:52:104000\n"})
	r.checkMail("of a dry run")
	if !strings.Contains(r.log.String(), "key=em/1/warning") {
		t.Errorf("the notice is not in the log before the first hook: %s", r.log)
	}
	if line := r.fire("em", uuid(1), "Stop", ""); line != "" {
		t.Errorf("received %q", line)
	}
}
