package fleet

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sm/transcript"
	"sm/transcript/transcripttest"
)

// truth has the totals of sessions that copied from each other. Their files do not always
// show which was first.
type truth struct {
	Compactions    transcript.TriggerCounts
	Inherited      int
	Messages       int
	Tokens         transcript.Usage
	Subagents      int
	Side           int
	SideTokens     transcript.Usage
	Turns          int
	Lines, Bad     int64
	Known, Context int64
}

func (t *truth) addTruth(f *transcripttest.FileTruth) {
	for i, n := range f.Compactions {
		t.Compactions[i] += n
	}
	t.Inherited += f.Inherited
	t.Messages += f.Messages
	t.Tokens = t.Tokens.Plus(f.Tokens)
	t.Subagents += f.Subagents.Files
	t.Side += f.Subagents.Messages
	t.SideTokens = t.SideTokens.Plus(f.Subagents.Tokens)
	t.Turns += f.Turns
	t.Lines += int64(f.Lines)
	t.Bad += int64(f.BadLines)
	if f.Known {
		t.Known++
		t.Context += f.ContextTokens
	}
}

func (t *truth) addView(v *View) {
	for i, n := range v.Compactions {
		t.Compactions[i] += n
		t.Inherited += v.Inherited[i]
	}
	t.Messages += v.Messages
	t.Tokens = t.Tokens.Plus(v.Tokens)
	t.Subagents += v.SubagentFiles
	t.Side += v.SideMessages
	t.SideTokens = t.SideTokens.Plus(v.SideTokens)
	t.Turns += v.Turns
	t.Lines += v.Lines
	t.Bad += v.Bad
	if tokens, known := v.Context(); known {
		t.Known++
		t.Context += tokens
	}
}

// generate reads a generated fleet, without unterminated ends.
func generate(t *testing.T, o transcripttest.Options) (*transcripttest.Truth, []*testFile) {
	t.Helper()
	dir := t.TempDir()
	made, err := transcripttest.Generate(dir, o)
	noErrors(t, err)
	var files []*testFile
	for path := range made.Files {
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		noErrors(t, err)
		p := newTestFile("/" + path)
		for line := range bytes.Lines(b) {
			if whole, ok := strings.CutSuffix(string(line), "\n"); ok {
				p.add(whole)
			}
		}
		files = append(files, p)
	}
	return made, files
}

func TestGenerated(t *testing.T) {
	for seed := range uint64(12) {
		made, files := generate(t, transcripttest.Options{
			Seed:      seed,
			Traps:     true,
			Copies:    true,
			Subagents: true,
		})
		rng := rand.New(rand.NewPCG(seed, 1))
		rng.Shuffle(
			len(files),
			func(i, j int) { files[i], files[j] = files[j], files[i] },
		)
		f := settled(files...)
		want := map[string]truth{}
		got := map[string]truth{}
		for v := range f.All(created) {
			file := made.Files[v.Path[1:]]
			if file == nil {
				t.Fatal("unknown: ", v.Path)
			}
			w := want[file.Family]
			g := got[file.Family]
			w.addTruth(file)
			g.addView(&v)
			want[file.Family] = w
			got[file.Family] = g
		}
		diff(t, "families", want, got)
		if n := compactionsOf(f); n != made.DistinctCompactions {
			t.Errorf("%d compactions, want %d", n, made.DistinctCompactions)
		}
		if t.Failed() {
			t.Fatal("seed ", seed)
		}
	}
}
