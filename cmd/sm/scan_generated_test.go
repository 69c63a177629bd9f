package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
	"sm/transcript/transcripttest"
)

// scanJSON runs `sm scan --json` and returns its lines by path.
func scanJSON(t *testing.T, paths ...string) map[string]scanned {
	t.Helper()
	ran := execute(t, nil, append([]string{"scan", "--json"}, paths...)...)
	if ran.Code != exitDone {
		t.Fatalf("exit code %d: %s", ran.Code, ran.ErrOut)
	}
	got := map[string]scanned{}
	for d := json.NewDecoder(strings.NewReader(ran.Out)); d.More(); {
		var s scanned
		noErrors(t, d.Decode(&s))
		got[s.Path] = s
	}
	return got
}

func stamp(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// meant returns a scanned file with the generator's figures in place of those read.
func meant(got scanned, f *transcripttest.FileTruth) scanned {
	got.Context = nil
	if f.Known {
		got.Context = &f.ContextTokens
	}
	got.Peak = f.Peak
	got.Turns = f.Turns
	got.Lines = int64(f.Lines)
	got.BadLines = int64(f.BadLines)
	got.Model = f.Model
	got.Version = f.Version
	got.CWD = f.Cwd
	got.SessionID = f.SessionID
	got.Messages = f.Alone.Messages
	got.Tokens = api.Tokens(f.Alone.Tokens)
	got.Subagents.Files = 0 // subagents' files are not read here
	return got
}

// wholeEnds reports whether a file ends in a complete record without a newline: a scan counts
// it, the truth does not.
func wholeEnds(t *testing.T, dir string, truth *transcripttest.Truth) bool {
	t.Helper()
	for path, f := range truth.Files {
		if f.Tail == 0 {
			continue
		}
		b := readFile(t, filepath.Join(dir, filepath.FromSlash(path)))
		if json.Valid(b[int64(len(b))-f.Tail:]) {
			return true
		}
	}
	return false
}

// TestScanGeneratedFleets compares `sm scan --json` with the generator's figures over fleets
// of all eras, with forks, subagents and all peculiarities: each file alone, and the sums of
// the fleet.
func TestScanGeneratedFleets(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := t.TempDir()
			truth, err := transcripttest.Generate(dir, transcripttest.Options{
				Seed:      9000 + seed,
				Traps:     true,
				Copies:    true,
				Subagents: true,
			})
			noErrors(t, err)
			messages := 0
			compactions := 0
			tokens := transcripttest.Tokens{}
			fleet := scanJSON(t, dir)
			for _, s := range fleet {
				messages += s.Messages
				compactions += s.Compactions.Auto + s.Compactions.Manual + s.Compactions.Unknown
				tokens.Input += s.Tokens.Input
				tokens.CacheCreation += s.Tokens.CacheCreation
				tokens.CacheRead += s.Tokens.CacheRead
				tokens.Output += s.Tokens.Output
			}
			want := []any{truth.Messages, truth.DistinctCompactions, truth.Tokens}
			if d := cmp.Diff(
				want,
				[]any{messages, compactions, tokens},
			); d != "" &&
				!wholeEnds(t, dir, truth) {
				t.Errorf("messages, compactions and tokens of the fleet (-want +got):\n%s", d)
			}
			alone := 0
			for path, f := range truth.Files {
				full := filepath.Join(dir, filepath.FromSlash(path))
				if f.Tail > 0 || f.AgentID != "" {
					continue // a scan counts a complete last record without newline; subagents' files belong to their session
				}
				alone++
				got := scanJSON(t, full)[full]
				if d := cmp.Diff(meant(got, f), got); d != "" {
					t.Errorf("%s alone (-want +got):\n%s", path, d)
				}
				if n := f.Alone.Compactions.Total(); got.Compactions.Total() != n ||
					stamp(got.StartedAt) != stamp(&f.Started) || stamp(got.LastActivity) != stamp(&f.LastActivity) {
					t.Errorf(
						"%s alone: %+v, want %d compactions from %v to %v",
						path,
						got,
						n,
						f.Started,
						f.LastActivity,
					)
				}
			}
			if alone < 5 {
				t.Errorf("compared only %d files", alone)
			}
		})
	}
}
