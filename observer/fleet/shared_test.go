package fleet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sm/transcript"
)

func readExpected(t *testing.T, dir string, v any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(samples(t, dir), "expected.json"))
	noErrors(t, err)
	noErrors(t, json.Unmarshal(b, v))
}

// inAllOrders finds the files in each order, checks that the result is always the same, and
// returns it.
func inAllOrders(t *testing.T, files []*testFile) *Fleet {
	t.Helper()
	changes := make([]transcript.Change, len(files))
	for i, p := range files {
		changes[i] = p.whole()
	}
	var first *Fleet
	for order := range orders(len(files)) {
		f := unsettled()
		for _, i := range order {
			f.Apply(changes[i])
		}
		f.Settle(created)
		if first == nil {
			first = f
			continue
		}
		diff(t, "views in another order", first.Views(created), f.Views(created))
		diff(t, "counters in another order", first.Counters(), f.Counters())
		if t.Failed() {
			t.Fatal(order)
		}
	}
	return first
}

func compactionsOf(f *Fleet) (n int) {
	for v := range f.All(created) {
		n += v.Total()
	}
	return n
}

func TestShapesGroups(t *testing.T) {
	var want struct {
		Groups map[string]struct {
			Files       []string
			Compactions int
		}
	}
	readExpected(t, "shapes", &want)
	for name, group := range want.Groups {
		var files []*testFile
		for _, file := range group.Files {
			files = append(files, readTestFile(t, "shapes", file+".jsonl"))
		}
		f := inAllOrders(t, files)
		if n := compactionsOf(f); n != group.Compactions {
			t.Errorf(
				"%s: %d compactions, want %d: %+v",
				name,
				n,
				group.Compactions,
				figuresOf(f),
			)
		}
	}
}

// TestTranscripts reads recorded transcripts: clients of 2.1.197 repeat one summary in four
// compactions, and a fork contains one of them.
func TestTranscripts(t *testing.T) {
	var want struct {
		Files    map[string]struct{ Messages int }
		Distinct int `json:"distinct_compactions"`
	}
	readExpected(t, "transcripts", &want)
	var all, fork []*testFile
	for name := range want.Files {
		p := readTestFile(t, "transcripts", filepath.FromSlash(name))
		all = append(all, p)
		if strings.HasPrefix(name, "2.1.197") {
			fork = append(fork, p)
		}
	}
	if n := compactionsOf(inAllOrders(t, all)); n != want.Distinct {
		t.Errorf("%d distinct compactions, want %d", n, want.Distinct)
	}
	got := figuresOf(inAllOrders(t, fork))
	if a, b := got["64066f5a"], got["7a2c9c27"]; a.Compactions != (transcript.TriggerCounts{
		3,
		1,
		0,
	}) ||
		a.Inherited != (transcript.TriggerCounts{}) ||
		b.Compactions != (transcript.TriggerCounts{
			1,
			0,
			0,
		}) || b.Inherited != (transcript.TriggerCounts{
		0,
		1,
		0,
	}) || a.Messages != 24 {
		t.Errorf("original and fork: %+v", got)
	}
}

func TestCorpus(t *testing.T) {
	var want map[string]struct {
		Compactions []struct{ UUID string }
	}
	readExpected(t, "corpus", &want)
	var files []*testFile
	distinct := map[string]bool{}
	for name, file := range want {
		p := readTestFile(t, "corpus", filepath.FromSlash(name))
		files = append(files, p)
		if p.parent == "" {
			for _, c := range file.Compactions {
				distinct[c.UUID] = true
			}
		}
	}
	slices.SortFunc(files, func(a, b *testFile) int { return strings.Compare(a.path, b.path) })
	f := inAllOrders(t, files)
	if n := compactionsOf(f); n != len(distinct) {
		t.Errorf("%d compactions, want %d", n, len(distinct))
	}
	messages := 0
	unclaimed := 0
	for v := range f.All(created) {
		messages += v.Messages + v.SideMessages
	}
	for _, s := range f.sessions {
		if len(s.own) == 0 {
			unclaimed += orphans(s)
		}
	}
	if messages+unclaimed != len(f.messages) {
		t.Errorf(
			"views show %d messages and orphans have %d, want %d",
			messages,
			unclaimed,
			len(f.messages),
		)
	}
}
