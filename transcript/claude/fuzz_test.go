package claude

import (
	"bytes"
	"fmt"
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

// checkScan compares Scan with the oracle: on the unchanged line, without wide instructions,
// and among spaces, which move it to other places of their blocks.
func checkScan(t *testing.T, line []byte, shift int) {
	t.Helper()
	want, wantErr := oracle(line)
	check := func(how string, line []byte, begin func(*walker, []byte)) {
		var w walker
		begin(&w, line)
		var got transcript.Entry
		err := w.scan(line, &got)
		same := err == wantErr && bytes.Equal(got.Model, want.Model) &&
			bytes.Equal(got.Version, want.Version) &&
			bytes.Equal(got.CWD, want.CWD) && bytes.Equal(got.SessionID, want.SessionID) &&
			bytes.Equal(
				got.Branch,
				want.Branch,
			) && bytes.Equal(
			got.Title,
			want.Title,
		) && cmp.Equal(
			got.Calls,
			want.Calls,
			cmpopts.EquateEmpty(),
		)
		x := got
		y := want
		for _, e := range []*transcript.Entry{&x, &y} {
			e.Model = nil
			e.Version = nil
			e.CWD = nil
			e.SessionID = nil
			e.Branch = nil
			e.Title = nil
			e.Calls = nil
		}
		if !same || !reflect.DeepEqual(x, y) {
			t.Fatalf("%s: error %v, want %v; entry (-want +got):\n%s\nline %q", how, err, wantErr,
				cmp.Diff(want, got, cmpopts.EquateEmpty()), line)
		}
	}
	begin := func(w *walker, line []byte) { w.Begin(line) }
	check("as it is", line, begin)
	check("plain", line, func(w *walker, line []byte) {
		begin(w, line)
		w.Plain()
	})
	line = slices.Concat(
		bytes.Repeat([]byte{' '}, shift%64),
		line,
		bytes.Repeat([]byte{' '}, 64),
	)
	check("shifted", line, begin)
}

// records returns lines of every kind with a meaning, as seeds for fuzzing.
func records(t testing.TB) [][]byte {
	t.Helper()
	files := []string{"testdata/records.jsonl", "testdata/odd.jsonl"}
	for _, pattern := range []string{"shapes/*.jsonl", "transcripts/*/*.jsonl"} {
		more, _ := filepath.Glob(filepath.Join("testdata", pattern))
		files = append(files, more...)
	}
	var all [][]byte
	for _, name := range files {
		b, err := os.ReadFile(name)
		noErrors(t, err)
		for line := range bytes.Lines(b) {
			if line = bytes.TrimSuffix(line, []byte{'\n'}); len(line) < 8<<10 {
				all = append(all, line)
			}
		}
	}
	return all
}

func FuzzScan(f *testing.F) {
	for i, line := range records(f) {
		f.Add(line, uint8(i))
	}
	f.Add(
		[]byte(strings.Repeat(
			`{"a":`,
			jsonwalk.MaxDepth-1,
		)+"[]"+strings.Repeat(
			"}",
			jsonwalk.MaxDepth-1,
		)),
		uint8(0),
	)
	f.Add([]byte(strings.Repeat("[", jsonwalk.MaxDepth+1)), uint8(0))
	f.Fuzz(func(t *testing.T, line []byte, shift uint8) {
		checkScan(t, line, int(shift))
	})
}

func TestScanRecords(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 13
	}
	for _, line := range records(t) {
		for shift := 0; shift < 64; shift += step {
			checkScan(t, line, shift)
		}
	}
}

// pieces are inserted into records by mutations.
var pieces = []string{
	`"`, `\`, `\\`, `\"`, `\u0041`, `\u00`, `\ud83d`, `\ude00`, `\ud83d\ude00`, `\x`, `\/`, "\x00", "\x1f", "\x7f", "\xff", "\xed\xa0\x80",
	"é", "\xf0\x9f\x98\x80", "\t", "\n", "\r", " ", "{", "}", "[", "]", ",", ":", "{}", "[]", `""`, "null", "true", "false", "tru",
	"1e400", "-1e400", "-5", "-0", "1.0", "1e3", "12.5", "01", "1.", "1e", "+1", "9223372036854775808", "1000000001", "0",
	`,"type":"assistant"`, `"t\u0079pe":"user",`, `"type":"user",`, `"type":"system",`, `"isMeta":true,`, `"isCompactSummary":true,`,
	`"isSidechain":true,`, `"usage":{"input_tokens":7},`, `"message":null,`, `"iterations":[{"type":"message","input_tokens":5},{}],`,
	`"iterations":[{"type":"message","input_tokens":5,"output_tokens":1,"cache_read_input_tokens":6,"cache_creation_input_tokens":0}],`,
	`{"type":"fallback_message","input_tokens":8,"output_tokens":1,"cache_read_input_tokens":6,"cache_creation_input_tokens":0},`,
	`"type":"advisor_message",`, `"type":"compaction",`, `"context_management":{"applied_edits":[{"type":"clear_tool_uses_20250919","cleared_input_tokens":70}]},`,
	`"client_cut_tool_uses":2,"client_estimated_cleared_input_tokens":60,`, `"client_estimate_measured_from_prompts":true,`, `"durationMs":0,`, `"preservedMessages":{"anchorUuid":"x"},`,
	`"explicit":true,"leafUuid":"00000000-0000-0000-0000-000000000000",`, `"type":"last-prompt",`, `"parentUuid":"y",`, `"stop_reason":"end_turn",`,
	`"content":"[sm hello",`, `"content":[{"type":"text","text":"x"}],`, `"cache_creation":{"ephemeral_5m_input_tokens":9},`,
	`{"type":"tool_use","id":"t\"1","name":"Read","input":{"file_path":"/a/\u0062.go","limit":5}},`, `{"type":"tool_use","name":"Bash","input":{"command":"ls\n","path":"x"},"id":"t2"},`,
	`{"tool_use_id":"t1","type":"tool_result","content":[{"type":"text","text":"x"}]},`, `"tool_use_id":"t3","type":"tool_result",`, `"input":{"notebook_path":"n"},`, `"type":"tool_use",`, `"file_path":"","url":"u",`,
	`"timestamp":"2024-02-29T23:59:59.999Z",`, `"uuid":"x",`, strings.Repeat(
		"x",
		64,
	), strings.Repeat(
		`\\`,
		33,
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
		j := min(len(b), i+r.IntN(20))
		switch r.IntN(8) {
		case 0:
			if i < len(b) {
				b[i] ^= 1 << r.IntN(8)
			}
		case 1:
			if i < len(b) {
				b[i] = byte(r.IntN(256))
			}
		case 2:
			b = slices.Delete(b, i, j)
		case 3:
			b = slices.Insert(b, i, slices.Clone(b[i:j])...)
		case 4:
			k := r.IntN(len(other) + 1)
			b = slices.Insert(b, i, other[k:min(len(other), k+r.IntN(80))]...)
		case 5:
			b = b[:i]
		default:
			b = slices.Insert(b, i, []byte(pieces[r.IntN(len(pieces))])...)
			if r.IntN(2) == 0 { // as a separate member or element
				if k := bytes.IndexAny(b[i:], ",{"); k > 0 {
					b = slices.Insert(b, i+k+1, []byte(pieces[r.IntN(len(pieces))])...)
				}
			}
		}
	}
	return b
}

// TestScanForgetsTheLineBefore tests that one walker for all lines agrees with a new one for
// each.
func TestScanForgetsTheLineBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	lines := slices.DeleteFunc(records(t), func(b []byte) bool { return len(b) > 3000 })
	for i := range 25 { // lists that end in other places than the previous ones
		lines = append(
			lines,
			fmt.Appendf(
				nil,
				`{"type":"attachment","attachment":{"type":"hook_additional_context","content":[%s1]}}`,
				strings.Repeat(`"a\n",`, i),
			),
		)
	}
	lines = append(
		lines,
		[]byte(`{"type":"attachment","attachment":{"type":"hook_additional_context"}}`),
	)
	var w walker
	var want, got transcript.Entry
	for i := range 20_000 {
		b := mutate(r, lines[r.IntN(len(lines))], lines[r.IntN(len(lines))])
		if i%50 == 0 {
			b = append(b, '\\') // it escapes nothing in the next line
		}
		wantErr := scan(b, &want)
		w.Begin(b)
		if err := w.scan(
			b,
			&got,
		); err != wantErr ||
			!cmp.Equal(want, got, cmpopts.EquateEmpty()) {
			t.Fatalf(
				"error %v, want %v; entry (-want +got):\n%s\nline %q",
				err,
				wantErr,
				cmp.Diff(want, got),
				b,
			)
		}
		w.Begin(nil)
	}
}

// TestSoakScanMutations runs for SM_SOAK if that is set.
func TestSoakScanMutations(t *testing.T) {
	rounds := 40_000
	seed := uint64(1)
	if testing.Short() {
		rounds = 3_000
	}
	var until time.Time
	if d, err := time.ParseDuration(os.Getenv("SM_SOAK")); err == nil {
		until, seed = time.Now().Add(d), uint64(time.Now().UnixNano())
	}
	r := rand.New(rand.NewPCG(seed, 0))
	lines := slices.DeleteFunc(records(t), func(b []byte) bool { return len(b) > 3000 })
	n := 0
	valid := 0
	for ; n < rounds || time.Now().Before(until); n++ {
		b := mutate(r, lines[r.IntN(len(lines))], lines[r.IntN(len(lines))])
		checkScan(t, b, n)
		if scan(b, &transcript.Entry{}) == nil {
			valid++
		}
	}
	t.Logf("%d lines from seed %d, %d of them records", n, seed, valid)
}

// scan reads one line with a walker of its own.
func scan(line []byte, e *transcript.Entry) error {
	var w walker
	w.Begin(line)
	return w.scan(line, e)
}
