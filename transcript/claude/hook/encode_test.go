package hook

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestEncodeAsPackageJSON: what is written here by hand is what package json writes.
func TestEncodeAsPackageJSON(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"",
		"plain",
		"\"\\/<>&",
		"\t\n\r\b\f\x00\x1f\x7f",
		"ä",
		"–\u2028\u2029🙂",
		"\xff",
		"a\xe2\x80",
	} {
		p := Payload{
			SessionID:      s,
			Event:          Stop,
			ToolInput:      []byte(` {"a" : "<\u2028>", "b":[1, 2]}`),
			StopHookActive: s == "",
			ContextTokens:  int64(len(s)),
			SM: Origin{
				Agent:  s,
				Server: len(s),
				PID:    1 << 40,
				At:     time.Date(2026, 1, 2, 3, 4, 5, len(s), time.UTC),
			},
		}
		p.SM.AutoCompact = AutoCompact{
			Off:     s != "",
			Setting: math.MinInt64,
			Models:  map[string]int64{"b": 1, "a" + s: 2},
		}
		w := Window{
			TotalInput:     Figure[int64]{Value: -3, Known: true},
			Size:           Figure[int64]{Null: true},
			Usage:          Figure[Usage]{Value: Usage{Input: 1, CacheRead: 2}, Known: true},
			UsedPercentage: Figure[float64]{Value: 1e21 / 3, Known: true},
		}
		for _, v := range []any{p, Payload{}, w, Window{}, Cost{}, output{Event: Stop, Reason: s}, struct {
			V any `json:"v"`
		}{s}} {
			if diff := cmp.Diff(string(standard(v)), string(Marshal(v))); diff != "" {
				t.Errorf("%+v (-package json +ours):\n%s", v, diff)
			}
		}
	}
}

// TestPlainTexts: texts are read as package json reads them.
func TestPlainTexts(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`"a b"`: "a b", `""`: "", `"ä"`: "ä", `"–"`: "–", `"a\nb\u0041"`: "a\nbA", "\"\xff\"": "\ufffd", `"`: "", `"a`: "", `"\"`: "", "\"a\x01\"": "",
	} {
		if got, _ := stringOf([]byte(raw)); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}
