package codex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"sm/transcript"
)

const (
	idA = "01a200a2-c691-7de0-a325-4ece90591c2c"
	idB = "01a200b1-9e64-74a2-8e73-ca8d66571072"
)

// rollout builds a transcript, a millisecond a line.
type rollout struct {
	lines []string
	ms    int
}

func (r *rollout) add(kind, payload string, v ...any) {
	r.ms++
	r.lines = append(
		r.lines,
		fmt.Sprintf(
			`{"timestamp":"2026-11-22T00:%02d:%02d.%03dZ","type":%q,"payload":%s}`,
			r.ms/60_000,
			r.ms/1000%60,
			r.ms%1000,
			kind,
			fmt.Sprintf(payload, v...),
		),
	)
}

func (r *rollout) event(kind, members string, v ...any) {
	r.add("event_msg", `{"type":%q`+strings.Replace(","+members, ",}", "}", 1)+"}", append([]any{kind}, v...)...)
}

func (r *rollout) count(last, sum int64) {
	r.event(
		"token_count",
		`"info":{"last_token_usage":{"input_tokens":%d,"output_tokens":40,"total_tokens":%d},"total_token_usage":{"input_tokens":%[3]d,"total_tokens":%[3]d},"model_context_window":258400}`,
		last-40,
		last,
		sum,
	)
}

func (r *rollout) estimate(last, sum int64) {
	r.event(
		"token_count",
		`"info":{"last_token_usage":{"total_tokens":%d},"total_token_usage":{"input_tokens":%[2]d,"total_tokens":%[2]d},"model_context_window":258400}`,
		last,
		sum,
	)
}

func (r *rollout) fold(t *testing.T) (f *Fold, entries []transcript.Entry) {
	t.Helper()
	f = NewFold(transcript.File{Name: idA})
	for _, line := range r.lines {
		var e transcript.Entry
		before := *f.Sum()
		want, ok := f.Peek([]byte(line))
		if d := cmp.Diff(before, *f.Sum()); d != "" || !ok {
			t.Fatalf("Peek has changed the session, or knows no record:\n%s\n%s", line, d)
		}
		fresh, err := f.Line([]byte(line), len(line)+1, &e)
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if want.Bytes++; !cmp.Equal(want, *f.Sum()) {
			t.Fatalf("Peek said otherwise (-peek +line):\n%s", cmp.Diff(want, *f.Sum()))
		}
		if fresh {
			e.Model = nil
			entries = append(entries, e)
		}
	}
	return f, entries
}

// TestLegacyFork: what clients up to 0.145 have copied from the thread that was forked counts
// there; the context is that of the copy until the fork goes on.
func TestLegacyFork(t *testing.T) {
	var r rollout
	r.add("session_meta", `{"id":%q,"forked_from_id":%q,"cli_version":"0.125.0"}`, idB, idA)
	r.add("session_meta", `{"id":%q,"cli_version":"0.125.0"}`, idA)
	r.event("task_started", `"turn_id":%q`, "01a200a2-c700-7000-8000-000000000000")
	r.event("user_message", `"message":"one"`)
	r.count(60_000, 60_000)
	r.event("task_complete", `"turn_id":"x"`)
	r.event("task_started", `"turn_id":%q`, "01a200a2-c800-7000-8000-000000000000")
	r.count(61_000, 121_000)
	r.add("compacted", `{"message":"SUMMARY"}`)
	r.estimate(5000, 121_000)
	r.event("task_complete", `"turn_id":"x"`)
	f, entries := r.fold(t)
	s := f.Sum()
	if s.ID != idB || s.Messages != 0 || s.Turns != 0 || s.Tokens != (transcript.Usage{}) || len(entries) != 0 ||
		!s.Blank ||
		s.Also().Estimate != 5000 {
		t.Errorf("before it goes on: %+v, %d entries", s, len(entries))
	}
	_, compactions := f.Take()
	origin := transcript.Join(transcript.KeyOf([]byte(idA)), nameless, 1)
	if len(compactions) != 1 || !compactions[0].Copied || compactions[0].Key != origin ||
		compactions[0].Trigger != transcript.Manual {
		t.Errorf("the copied compaction: %+v; want the key %x of the origin", compactions, origin)
	}
	r.event("task_started", `"turn_id":%q`, "01a200b1-ffff-7000-8000-000000000000")
	r.event("user_message", `"message":"two"`)
	r.count(20_000, 141_000)
	f, entries = r.fold(t)
	if s = f.Sum(); s.Messages != 1 || s.Turns != 1 || total(s.Tokens) != 20_000 || len(entries) != 2 || s.Blank {
		t.Errorf("gone on: %+v, entries %+v", s, entries)
	}

	// The same compaction in the thread itself has the key that the copy names.
	own := rollout{}
	own.add("session_meta", `{"id":%q,"cli_version":"0.125.0"}`, idA)
	own.add("compacted", `{"message":"SUMMARY"}`)
	f, _ = own.fold(t)
	if _, compactions = f.Take(); compactions[0].Key != origin || compactions[0].Copied {
		t.Errorf("the origin: %+v", compactions)
	}
}

// TestRewound: a file whose history begins with its own thread goes on with an unknown context. Where the thread had been
// rewound before, its history may begin with the file that it went on in then: that is named by an id of its own.
func TestRewound(t *testing.T) {
	const segment = "01a20546-4c3a-7c63-b7ef-d985f46264c0"
	for _, base := range []string{idA, segment} {
		var r rollout
		r.add(
			"session_meta",
			`{"id":%q,"cli_version":"0.169.0","history_base":{"thread_id":%q,"end_ordinal_exclusive":20}}`,
			idA,
			base,
		)
		f, entries := r.fold(t)
		if len(entries) != 1 || entries[0].Kind != transcript.KindRewind || !entries[0].Rewound ||
			entries[0].Context != 0 {
			t.Errorf("from %s: entries %+v", base, entries)
		}
		if _, known := f.Sum().Context(); known {
			t.Errorf("from %s: the context is known: %+v", base, f.Sum())
		}
	}
	for _, base := range []string{idA, segment} {
		fork := rollout{}
		fork.add(
			"session_meta",
			`{"id":%q,"cli_version":"0.169.0","forked_from_id":%q,"history_base":{"thread_id":%q}}`,
			idB,
			idA,
			base,
		)
		if _, entries := fork.fold(t); len(entries) != 0 {
			t.Errorf("a fork from %s is no rewind: %+v", base, entries)
		}
	}
	fork := rollout{}
	fork.add(
		"session_meta",
		`{"id":%[1]q,"cli_version":"0.169.0","forked_from_id":%q,"history_base":{"thread_id":%[1]q}}`,
		idB,
		idA,
	)
	if _, entries := fork.fold(t); len(entries) != 1 {
		t.Errorf("a fork that was rewound: %+v", entries)
	}
}

// TestOverflow: a request that did not fit marks the context as full; the client shows a
// wrong figure, and the next reply the true one.
func TestOverflow(t *testing.T) {
	var r rollout
	r.add("session_meta", `{"id":%q,"cli_version":"0.169.0"}`, idA)
	r.event("task_started", `"turn_id":"t","turn_attribution":{},"model_context_window":258400`)
	r.count(50_000, 50_000)
	r.event(
		"token_count",
		`"info":{"last_token_usage":{"total_tokens":208400},"total_token_usage":{"total_tokens":258400},"model_context_window":258400}`,
	)
	r.event("task_complete", `"turn_id":"t","error":{"codex_error_info":"context_window_exceeded"}`)
	f, entries := r.fold(t)
	s := f.Sum()
	if _, known := s.Context(); known || s.Also().Estimate != 208_400 {
		t.Errorf("known %v, estimate %d", known, s.Also().Estimate)
	}
	if e := entries[len(entries)-2]; e.Kind != transcript.KindReading || e.Context != 258_400 || e.Message != 0 {
		t.Errorf("told %+v, want a full window", e)
	}
	if s.Tokens.Output != 40 || s.InTurn {
		t.Errorf("tokens %+v, in a turn %v", s.Tokens, s.InTurn)
	}
}

// TestTriggers: where turns do not name what began them, their prompts do.
func TestTriggers(t *testing.T) {
	for _, c := range []struct {
		name  string
		turn  func(r *rollout)
		want  transcript.Trigger
		first transcript.Trigger
	}{
		{"before the prompt", func(r *rollout) {
			r.event("task_started", `"turn_id":"t"`)
			r.add("compacted", `{"window_id":"w"}`)
			r.event("user_message", `"message":"go on"`)
		}, transcript.Auto, transcript.Unknown},
		{"in a turn", func(r *rollout) {
			r.event("task_started", `"turn_id":"t"`)
			r.event("user_message", `"message":"go on"`)
			r.add("compacted", `{"window_id":"w"}`)
		}, transcript.Auto, transcript.Auto},
		{"by command", func(r *rollout) {
			r.event("task_started", `"turn_id":"t"`)
			r.add("compacted", `{"window_id":"w"}`)
			r.event("task_complete", `"turn_id":"t"`)
		}, transcript.Manual, transcript.Unknown},
		{"without turns", func(r *rollout) {
			r.event("user_message", `"message":"go on"`)
			r.add("compacted", `{"window_id":"w"}`)
		}, transcript.Unknown, transcript.Unknown},
		{"twice", func(r *rollout) {
			r.event("task_started", `"turn_id":"t","turn_attribution":{}`)
			r.add("compacted", `{"window_id":"w"}`)
			r.add("compacted", `{"window_id":"w"}`)
		}, transcript.Auto, transcript.Auto},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r rollout
			r.add("session_meta", `{"id":%q,"cli_version":"0.145.0"}`, idA)
			c.turn(&r)
			f, entries := r.fold(t)
			want := transcript.TriggerCounts{}
			want[c.want] = 1
			if got := f.Sum().Compactions; got != want {
				t.Errorf("compactions %v, want %v", got, want)
			}
			_, compactions := f.Take()
			if len(compactions) != 1 || compactions[0].Trigger != c.want {
				t.Errorf("handed out %+v", compactions)
			}
			for _, e := range entries {
				if e.Kind == transcript.KindBoundary && e.Trigger != c.first {
					t.Errorf("told as %v, want %v", e.Trigger, c.first)
				}
			}
		})
	}
}

// TestSizeBeforeCompaction: it is that of the newest reply, not of the request that sums the
// conversation up.
func TestSizeBeforeCompaction(t *testing.T) {
	name := "testdata/transcripts/auto-compaction/sessions/2026/11/22/rollout-2026-11-22T00-23-17-01a200a2-c691-7de0-a325-4ece90591c2c.jsonl"
	var sizes []int64
	foldLines(t, name, func(_ *Fold, e *transcript.Entry, _ bool) {
		if e.Kind == transcript.KindBoundary {
			sizes = append(sizes, e.PreTokens)
		}
	})
	for _, n := range sizes {
		if n < 230_000 || n > 258_400 {
			t.Errorf("sizes %v", sizes)
		}
	}
	if len(sizes) != 3 {
		t.Errorf("sizes %v", sizes)
	}
}

// TestLimits: the account's rate limits are those of the newest record that names them, with
// figures of the context or without; windows of other lengths, and ends unknown, are left out.
func TestLimits(t *testing.T) {
	var r rollout
	r.event(
		"token_count",
		`"info":null,"rate_limits":{"primary":{"used_percent":12.5,"window_minutes":300,"resets_at":1795310598},"secondary":{"used_percent":140,"window_minutes":10080,"resets_at":1795900000}}`,
	)
	r.event(
		"token_count",
		`"info":null,"rate_limits":{"primary":{"used_percent":99,"window_minutes":60,"resets_at":1795310598},"secondary":{"used_percent":41,"window_minutes":10080,"resets_at":null}}`,
	)
	f, _ := r.fold(t)
	at := transcript.InstantOf(time.Date(2026, 11, 22, 0, 0, 0, 1e6, time.UTC))
	want := [2]transcript.Limit{{At: at, Resets: 1795310598e9, Used: 0.125}, {At: at, Resets: 1795900000e9, Used: 1}}
	if d := cmp.Diff(want, f.Facts().Limits); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestIdentify: the names of a thread's files contain its id.
func TestIdentify(t *testing.T) {
	const day = "/h/.codex/sessions/2026/11/22/"
	for path, want := range map[string]string{
		day + "rollout-2026-11-22T00-23-17-" + idA + ".jsonl":                       idA,
		day + "rollout-2026-11-22T00-23-17-" + idA + ".jsonl.zst":                   idA,
		day + "rollout-2026-11-22T00-23-17-" + idA + "_" + idB + ".jsonl":           idA,
		"/h/.codex/archived_sessions/rollout-2026-11-22T00-23-17-" + idA + ".jsonl": idA,
		day + idA + ".jsonl":                                   "",
		day + "rollout-" + idA + ".jsonl":                      "",
		day + "rollout-2026-11-22T00-23-17-" + idA + ".json":   "",
		day + "rollout-2026-11-22T00-23-17-" + idA + "x.jsonl": "",
	} {
		f, ok := identify(path)
		if f.Name != want || ok != (want != "") || f.Subagent || f.Parent != "" {
			t.Errorf("%s: %+v, %v", path, f, ok)
		}
	}
	path := day + "rollout-2026-11-22T00-23-17-" + idA + ".jsonl"
	if root, ok := rootOf(path, idA); !ok || root != "/h/.codex/sessions" {
		t.Errorf("root %q, %v", root, ok)
	}
	if _, ok := rootOf(path, idB); ok {
		t.Error("a root for another session")
	}
}

// TestContent: a compressed transcript is unpacked whatever its name; one that is broken
// cannot be read.
func TestContent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := strings.Repeat("{}\n", 5000)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x.jsonl.zst")
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packed := z.EncodeAll([]byte(text), nil)
	for _, b := range [][]byte{packed, []byte(text), {}, []byte("{}")} {
		write(b)
		want := text
		if len(b) < 3 {
			want = string(b)
		}
		if got := linesOf(t, path); string(got) != want {
			t.Errorf("%d bytes from %d, want %d", len(got), len(b), len(want))
		}
	}
	half := content(t.Context(), path, bytes.NewReader(packed), int64(len(packed)/2))
	if _, err := io.ReadAll(io.NewSectionReader(half, 0, half.Size())); err == nil {
		t.Error("half a file can be read")
	}
}

// TestContentCancelled: unpacking ends with its context, in the middle of a file and of a read.
func TestContentCancelled(t *testing.T) {
	t.Parallel()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := bytes.Repeat(z.EncodeAll(make([]byte, 1<<10), nil), 10_000)
	ctx, cancel := context.WithCancel(t.Context())
	text := content(ctx, "x.jsonl", bytes.NewReader(packed), int64(len(packed)))
	b := make([]byte, 9<<20)
	if _, err := text.ReadAt(b[:1], 0); err != nil {
		t.Fatal(err)
	}
	cancel()
	n, err := text.ReadAt(b, 1)
	if !errors.Is(err, context.Canceled) || n > 1<<20 {
		t.Errorf("%d bytes and error %v after the context has ended", n, err)
	}
}
