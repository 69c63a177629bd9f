package codex

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sm/transcript"
	"sm/transcript/jsonwalk"
)

// checkScan compares scan with the oracle: on the unchanged line, without wide instructions,
// and among spaces, which move it to other places of their blocks.
func checkScan(t *testing.T, line []byte, shift int) {
	t.Helper()
	want, wantErr := oracle(line)
	check := func(how string, line []byte, plain bool) {
		var w walker
		w.Begin(line)
		if plain {
			w.Plain()
		}
		var got record
		err := w.scan(line, &got)
		if err == wantErr && reflect.DeepEqual(want, got) { // faster than cmp.Diff
			return
		}
		if d := cmp.Diff(
			want,
			got,
			cmp.AllowUnexported(record{}, info{}, usage{}, limit{}),
			cmpopts.EquateEmpty(),
		); err != wantErr ||
			d != "" {
			t.Fatalf(
				"%s: error %v, want %v; record (-want +got):\n%s\nline %q",
				how,
				err,
				wantErr,
				d,
				line,
			)
		}
	}
	check("as it is", line, false)
	check("plain", line, true)
	check(
		"shifted",
		slices.Concat(
			bytes.Repeat([]byte{' '}, shift%64),
			line,
			bytes.Repeat([]byte{' '}, 64),
		),
		false,
	)
}

// records returns lines of every kind, as seeds for fuzzing.
func records(t testing.TB) (all [][]byte) {
	t.Helper()
	files, err := filepath.Glob("testdata/transcripts/*/sessions/*/*/*/*.jsonl")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	seen := map[string]int{}
	for _, name := range files {
		b, err := os.ReadFile(name)
		noErrors(t, err)
		for line := range bytes.Lines(b) {
			line = bytes.TrimSuffix(line, []byte{'\n'})
			r, err := oracle(line)
			noErrors(t, err)
			kind := objectOf(line).text("type") + objectOf(objectOf(line)["payload"]).text("type")
			if seen[kind]++; len(line) < 4<<10 &&
				(r.kind != other && seen[kind] < 25 || seen[kind] < 4) {
				all = append(all, line)
			}
		}
	}
	return append(all, []byte(`{"type":"response_item","payload":{"type":"message","role":"developer","content":[{"text":"[sm context] x #1"},{"text":"y"}]}}`),
		[]byte(`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"text":"<hook_prompt id=\"1\">[sm message] x #2</hook_prompt>"}]}}`),
		[]byte(`{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}`))
}

func FuzzScan(f *testing.F) {
	for i, line := range records(f) {
		f.Add(line, uint8(i))
	}
	f.Add(
		[]byte(strings.Repeat(
			`{"payload":`,
			jsonwalk.MaxDepth-1,
		)+"[]"+strings.Repeat(
			"}",
			jsonwalk.MaxDepth-1,
		)),
		uint8(0),
	)
	f.Fuzz(func(t *testing.T, line []byte, shift uint8) { checkScan(t, line, int(shift)) })
}

func TestScanRecords(t *testing.T) {
	t.Parallel()
	for i, line := range records(t) {
		for shift := range 4 {
			checkScan(t, line, 16*shift+i)
		}
	}
}

// pieces are inserted into records by mutations.
var pieces = []string{
	`"`, `\`, `\\`, `\"`, `\u0041`, `\u00`, `\ud83d`, `\x`, "\x00", "\x1f", "\xff", "é", "\t", "\n", " ", "{", "}", "[", "]", ",", ":", "{}", "[]", `""`,
	"null", "true", "tru", "1e400", "-5", "-0", "1.0", "1e3", "12.5", "01", "1.", "9223372036854775808", "1000000001", "0",
	`"type":"event_msg",`, `"type":"compacted",`, `"t\u0079pe":"session_meta",`, `"payload":null,`, `"payload":{"type":"token_count","info":{}},`, `"info":null,`,
	`"info":{"last_token_usage":{"total_tokens":7},"model_context_window":100},`, `"ordinal":7,`, `"ordinal":"7",`, `"turn_attribution":{},`, `"turn_attribution":null,`,
	`"error":{"codex_error_info":"context_window_exceeded"},`, `"item":{"type":"UserMessage","content":[{"text":"x"}]},`, `"content":[{"type":"text","text":"[sm x"}],`,
	`"content":"x",`, `"content":[[],3,{"text":4},{"text":"<hook_prompt>[sm y"}],`, `"role":"developer",`, `"role":"user",`, `"usage":{"total_tokens":8,"input_tokens":-1},`,
	`"rate_limits":{"primary":{"used_percent":1.5e1,"window_minutes":300,"resets_at":1795310598},"secondary":null},`, `"window_minutes":300,`, `"used_percent":-1,`,
	`"history_base":{"thread_id":"x"},`, `"forked_from_id":"x",`, `"git":{"branch":"b"},`, `"window_id":"w",`, `"timestamp":"2024-02-29T23:59:59.999Z",`, strings.Repeat(
		"x",
		64,
	), strings.Repeat(
		"[",
		70,
	),
}

// mutate changes a record at random places: bytes, ends, pieces, parts of another.
func mutate(r *rand.Rand, line, other []byte) []byte {
	b := slices.Clone(line)
	for range 1 + r.IntN(4) {
		i := r.IntN(len(b) + 1)
		switch r.IntN(7) {
		case 0:
			if i < len(b) {
				b[i] ^= 1 << r.IntN(8)
			}
		case 1:
			b = slices.Delete(b, i, min(len(b), i+r.IntN(20)))
		case 2:
			k := r.IntN(len(other) + 1)
			b = slices.Insert(b, i, other[k:min(len(other), k+r.IntN(80))]...)
		case 3:
			b = b[:i]
		default: // as a member of its own, mostly
			if k := bytes.IndexAny(b[i:], ",{"); k >= 0 && r.IntN(4) > 0 {
				i += k + 1
			}
			b = slices.Insert(b, i, []byte(pieces[r.IntN(len(pieces))])...)
		}
	}
	return b
}

// TestScanForgetsTheLineBefore tests that one walker for all lines agrees with a new one for
// each.
func TestScanForgetsTheLineBefore(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 0))
	lines := records(t)
	var w walker
	var want, got record
	for i := range 20_000 {
		b := mutate(r, lines[r.IntN(len(lines))], lines[r.IntN(len(lines))])
		if i%50 == 0 {
			b = append(b, '\\') // it escapes nothing in the next line
		}
		wantErr := scan(b, &want)
		w.Begin(b)
		if err := w.scan(b, &got); err != wantErr || !reflect.DeepEqual(want, got) {
			t.Fatalf(
				"error %v, want %v; record (-want +got):\n%s\nline %q",
				err,
				wantErr,
				cmp.Diff(want, got, cmp.AllowUnexported(record{}, info{}, usage{}, limit{})),
				b,
			)
		}
	}
}

// TestSoakScanMutations runs for SM_SOAK if that is set.
func TestSoakScanMutations(t *testing.T) {
	rounds := 20_000
	seed := uint64(1)
	if testing.Short() {
		rounds = 2_000
	}
	var until time.Time
	if d, err := time.ParseDuration(os.Getenv("SM_SOAK")); err == nil {
		until, seed = time.Now().Add(d), uint64(time.Now().UnixNano())
	}
	r := rand.New(rand.NewPCG(seed, 0))
	lines := records(t)
	n := 0
	valid := 0
	f := NewFold(transcript.File{Name: "x"})
	for ; n < rounds || time.Now().Before(until); n++ {
		b := mutate(r, lines[r.IntN(len(lines))], lines[r.IntN(len(lines))])
		checkScan(t, b, n)
		if _, err := f.Line(b, len(b)+1, &transcript.Entry{}); err == nil {
			valid++
		}
	}
	if valid < n/20 {
		t.Errorf("%d lines from seed %d, only %d of them records", n, seed, valid)
	}
}

// scan reads one line with a walker of its own.
func scan(line []byte, r *record) error {
	var w walker
	w.Begin(line)
	return w.scan(line, r)
}
