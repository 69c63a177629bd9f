package codex

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// scenario has the expected figures of the transcripts of one run of the client.
type scenario struct {
	Client  string
	Threads []thread
}

type thread struct {
	ID          string `json:"thread_id"`
	Files       []string
	Kind        string
	Parent      *string          `json:"parent_thread_id"`
	Version     string           `json:"cli_version"`
	Context     *int64           `json:"context_tokens_last"`
	Window      *int64           `json:"model_context_window"`
	PercentLeft *int             `json:"percent_left"`
	Compacted   int              `json:"compacted_records_own"`
	Requests    map[string]int   `json:"compaction_requests_by_client_header"`
	Turns       int              `json:"turns_started"`
	Total       *int64           `json:"total_token_usage_last"`
	ThreadTotal *int64           `json:"thread_token_usage_last"`
	Shown       []map[string]any `json:"shown_by_client"`
}

// eachThread calls do for each thread of each scenario.
func eachThread(t *testing.T, do func(t *testing.T, dir string, s thread)) {
	t.Helper()
	files, err := filepath.Glob("testdata/transcripts/*/expected.json")
	if err != nil || len(files) != 33 {
		t.Fatalf("%d scenarios: %v", len(files), err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		noErrors(t, err)
		var s scenario
		noErrors(t, json.Unmarshal(b, &s))
		dir := filepath.Dir(name)
		for _, th := range s.Threads {
			t.Run(filepath.Base(dir)+"/"+th.ID[9:18], func(t *testing.T) { do(t, dir, th) })
		}
	}
}

// linesOf reads a transcript, compressed or not.
func linesOf(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	noErrors(t, err)
	defer f.Close()
	info, err := f.Stat()
	noErrors(t, err)
	var r io.Reader = f
	if text := content(t.Context(), path, f, info.Size()); text != nil {
		r = io.NewSectionReader(text, 0, text.Size())
	}
	b, err := io.ReadAll(r)
	noErrors(t, err)
	return b
}

// foldLines folds a transcript and calls after behind each line.
func foldLines(
	t testing.TB,
	path string,
	after func(f *Fold, e *transcript.Entry, fresh bool),
) *Fold {
	t.Helper()
	id, ok := identify(path)
	if !ok {
		t.Fatalf("%s is no transcript", path)
	}
	f := NewFold(id)
	var e transcript.Entry
	lines := int64(0)
	var stamps []transcript.Instant
	for line := range bytes.Lines(linesOf(t, path)) {
		fresh, err := f.Line(bytes.TrimSuffix(line, []byte("\n")), len(line), &e)
		if err != nil {
			t.Fatalf("%s: %v: %s", path, err, line)
		}
		lines++
		var record struct{ Timestamp time.Time }
		if json.Unmarshal(line, &record) == nil && !record.Timestamp.IsZero() {
			stamps = append(stamps, transcript.InstantOf(record.Timestamp))
		}
		after(f, &e, fresh)
	}
	if s := f.Sum(); s.Lines != lines || s.Bad != 0 || s.Started != slices.Min(stamps) {
		t.Errorf("%s: %+v", path, s)
	}
	return f
}

// foldThread folds all files of a thread, which has several if it was rewound: the newest has
// its present state, and all of them add up.
func foldThread(
	t testing.TB,
	dir string,
	th thread,
	after func(f *Fold),
) (s transcript.Session) {
	t.Helper()
	var before transcript.Session
	for _, name := range th.Files {
		s = *foldLines(
			t,
			filepath.Join(dir, name),
			func(f *Fold, _ *transcript.Entry, _ bool) { after(f) },
		).Sum()
		for i, n := range before.Compactions {
			s.Compactions[i] += n
		}
		s.Turns += before.Turns
		s.Tokens = s.Tokens.Plus(before.Tokens)
		before = s
	}
	return s
}

// shown is what the client shows of a session: the percentage left and the tokens used.
type shown struct {
	left int
	used int64
}

func shownOf(s *transcript.Session) (v shown, ok bool) {
	tokens, known := s.Context()
	if !known {
		tokens = s.Details().Estimate
	}
	return shown{100 - WindowOf(s, nil).Percent(tokens), tokens}, tokens > 0
}

// figures are those of a thread at its end.
type figures struct {
	ID, Version, Parent string
	Shown               shown
	Known               bool
	Window              int64
	Compactions         int
	Triggers            map[string]int
	Turns               int
	Total               int64
}

func total(u transcript.Usage) int64 { return u.Context() + u.Output }

// TestScenarios tests that each thread of the real client has the context, window,
// compactions, turns and tokens that the client itself showed.
func TestScenarios(t *testing.T) {
	eachThread(t, func(t *testing.T, dir string, th thread) {
		sum := foldThread(t, dir, th, func(*Fold) {})
		s := &sum
		modern := th.Version == "0.169.0" // its records name what began a turn
		want := figures{
			ID:          th.ID,
			Version:     th.Version,
			Compactions: th.Compacted,
			Turns:       th.Turns,
		}
		got := figures{
			ID:          s.ID,
			Version:     s.Version,
			Parent:      s.Details().Parent,
			Compactions: s.Total(),
			Turns:       s.Turns,
		}
		if got.Shown, got.Known = shownOf(s); !got.Known {
			got.Shown = shown{}
		} else {
			got.Window = s.Details().Window
		}
		if want.Known = th.Context != nil; want.Known {
			want.Shown = shown{*th.PercentLeft, *th.Context}
			want.Window = *th.Window
		}
		if th.Parent != nil {
			want.Parent = *th.Parent
		}
		if len(th.Requests) > 0 {
			want.Triggers = th.Requests
			got.Triggers = map[string]int{}
			for i, n := range s.Compactions {
				if n > 0 {
					got.Triggers[transcript.Trigger(i).String()] = n
				}
			}
		}
		if !modern {
			want.Turns = 0
			got.Turns = 0
		}
		if sum := th.ThreadTotal; th.Kind != "fork" &&
			(sum != nil || th.Total != nil && !modern) {
			if sum == nil {
				sum = th.Total
			}
			want.Total, got.Total = *sum, total(s.Tokens)
			switch {
			case th.Version == "0.45.0":
				want.Total += 99_000 // its sums restarted when the thread was resumed
			case len(th.Files) > 1:
				want.Total += 120_000 // tokens of removed turns were spent; the client's sum leaves them out
			}
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(shown{})); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}

// TestShownByClient tests that each display of the client's context is, in order, that of the
// fold after some line.
func TestShownByClient(t *testing.T) {
	display := regexp.MustCompile(`^(\d+)% left \(([\d.]+)(K?) used / (\d+)K\)$`)
	compared := 0
	eachThread(t, func(t *testing.T, dir string, th thread) {
		var states []shown
		foldThread(t, dir, th, func(f *Fold) {
			if s, ok := shownOf(f.Sum()); ok &&
				(len(states) == 0 || states[len(states)-1] != s) {
				states = append(states, s)
			}
		})
		all := states
		for _, at := range th.Shown {
			text, ok := at["context_window"].(string)
			if !ok {
				continue
			}
			m := display.FindStringSubmatch(text)
			if m == nil {
				t.Fatalf("unexpected display %q", text)
			}
			if m[2] == "0" {
				continue // the client has no size: rewound, forked or refused, without a response since then
			}
			compared++
			left, _ := strconv.Atoi(m[1])
			used, _ := strconv.ParseFloat(m[2], 64)
			digits := math.Pow(
				10,
				float64(len(strings.TrimPrefix(
					m[2][strings.IndexByte(m[2]+".", '.'):],
					".",
				))),
			)
			scale := 1.0
			if m[3] == "K" {
				scale = 1000
			}
			i := 0
			for i < len(states) &&
				!(states[i].left == left &&
					math.Abs(float64(states[i].used)/scale-used) <= 0.5001/digits) {
				i++
			}
			if i == len(states) {
				t.Fatalf(
					"after %s the client showed %q, which the fold does not show in %v",
					at["after"],
					text,
					all,
				)
			}
			states = states[i:]
		}
	})
	if compared != 69 {
		t.Errorf("compared %d displays, want 69", compared)
	}
}
