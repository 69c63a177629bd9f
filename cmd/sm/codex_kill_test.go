package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// codexKills is how often the observer is killed while threads of Codex grow.
const codexKills = 24

// codexThreads are the lines of the threads of the real client, as if they were written from
// a time on. Those are left out whose copies count elsewhere, and what is compressed.
func codexThreads(t *testing.T, from time.Time) map[string][][]byte {
	t.Helper()
	names, err := filepath.Glob(codexScenarios + "/*/sessions/*/*/*/*.jsonl")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	stamp := regexp.MustCompile(`^\{"timestamp":"([^"]+)"`)
	base := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	threads := map[string][][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(name, "rollback-fork") {
			continue
		}
		for line := range bytes.Lines(text) {
			at, err := time.Parse(time.RFC3339Nano, string(stamp.FindSubmatch(line)[1]))
			if err != nil {
				t.Fatal(err)
			}
			line = stamp.ReplaceAll(
				line,
				fmt.Appendf(nil, `{"timestamp":%q`, from.Add(at.Sub(base)).UTC().Format("2006-01-02T15:04:05.000Z")),
			)
			threads[filepath.Base(name)] = append(threads[filepath.Base(name)], line)
		}
	}
	return threads
}

// codexTotals are what the metrics say of all threads of Codex.
func (d *daemon) codexTotals() (map[string]float64, error) {
	text, err := d.get("/metrics")
	if err != nil {
		return nil, err
	}
	totals := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if labels, ok := strings.CutPrefix(name, `agent_compactions_total{client="codex",`); ok {
			totals[labels], err = strconv.ParseFloat(value, 64)
		} else if labels, ok := strings.CutPrefix(name, `agent_tokens_total{client="codex",`); ok {
			totals[labels], err = strconv.ParseFloat(value, 64)
		}
		if err != nil {
			return nil, err
		}
	}
	return totals, nil
}

// TestCodexKills: without any configuration threads of Codex are followed besides, and what
// they add up to is counted once, however often the observer is killed while they grow.
func TestCodexKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	t.Parallel()
	d := newDaemon(t)
	d.launch()
	d.eventually("it runs", func() string {
		_, err := d.get("/-/ready")
		return message(err)
	})
	day := filepath.Join(d.dir, ".codex", "sessions", "2026", "11", "22")
	if err := os.MkdirAll(day, 0o700); err != nil {
		t.Fatal(err)
	}
	threads := codexThreads(t, time.Now().Add(2*time.Second))
	left := make([]string, 0, len(threads))
	lines := 0
	for name, all := range threads {
		left = append(left, name)
		lines += len(all)
	}
	slices.Sort(left)
	r := rand.New(rand.NewPCG(16, 0))
	next := map[string]int{}
	for written := 0; len(left) > 0; {
		i := r.IntN(len(left))
		name := left[i]
		all := threads[name]
		n := min(1+r.IntN(8), len(all)-next[name])
		text := bytes.Join(all[next[name]:next[name]+n], nil)
		cut := r.IntN(len(text)) // a writer may be seen in the middle of a line
		for _, part := range [][]byte{text[:cut], text[cut:]} {
			f, err := os.OpenFile(filepath.Join(day, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
			if err == nil {
				_, err = f.Write(part)
				f.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if next[name] += n; next[name] == len(all) {
			left = slices.Delete(left, i, i+1)
		}
		before := written
		if written += n; written*codexKills/lines > before*codexKills/lines {
			<-time.After(rand.N(300 * time.Millisecond))
			if !d.kill() {
				t.Fatal("it had ended by itself")
			}
			d.launch()
		}
	}
	want := map[string]float64{
		`trigger="auto"`: 0, `trigger="manual"`: 0, `trigger="idle"`: 0, `trigger="unknown"`: 0,
		`kind="input"`: 0, `kind="output"`: 0, `kind="cache_read"`: 0, `kind="cache_creation"`: 0,
	}
	sessions := scanCodexFolder(t, d.dir)
	for _, s := range sessions {
		want[`kind="input"`] += float64(s.Tokens.Input)
		want[`kind="output"`] += float64(s.Tokens.Output)
		want[`kind="cache_read"`] += float64(s.Tokens.CacheRead)
		want[`kind="cache_creation"`] += float64(s.Tokens.CacheCreation)
		want[`trigger="auto"`] += float64(s.Compactions.Auto)
		want[`trigger="manual"`] += float64(s.Compactions.Manual)
		want[`trigger="unknown"`] += float64(s.Compactions.Unknown)
	}
	// A trigger that is recorded after its compaction counts as unknown.
	sum := func(m map[string]float64) map[string]float64 {
		for _, trigger := range []string{"auto", "manual", "idle", "unknown"} {
			key := fmt.Sprintf("trigger=%q", trigger)
			m["compactions"] += m[key]
			delete(m, key)
		}
		return m
	}
	want = sum(want)
	if rewound := 1; want["compactions"] < 30 || len(sessions) != len(threads)-rewound {
		t.Fatalf("%d sessions of %d files, %v", len(sessions), len(threads), want)
	}
	d.eventually("all counted once", func() string {
		got, err := d.codexTotals()
		if err != nil {
			return err.Error()
		}
		return cmp.Diff(want, sum(got))
	})
	if log := d.log(1 << 20); strings.Contains(log, "level=ERROR") || strings.Contains(log, "panic") {
		t.Errorf("its log:\n%s", log)
	}
	if code := d.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// scanCodexFolder scans the daemon's threads of Codex in a process of its own.
func scanCodexFolder(t *testing.T, home string) (all []scanned) {
	t.Helper()
	d := &daemon{t: t, dir: home}
	out, err := d.command("scan", "--json", filepath.Join(home, ".codex")).Output()
	if err != nil {
		t.Fatal(err)
	}
	for j := json.NewDecoder(bytes.NewReader(out)); j.More(); {
		var s scanned
		if err := j.Decode(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}
