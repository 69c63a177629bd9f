package claude

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// TestClientFiles: files of clients whose context is not that of the newest record or the
// last boundary: rewound ones as real clients wrote them, their text taken out, and those
// of cleared results and marker boundaries as in the client's own code.
func TestClientFiles(t *testing.T) {
	type file struct {
		Context     int64   `json:"context_tokens"`
		Cleared     int64   `json:"cleared_tokens"`
		Peak        int64   `json:"peak"`
		Compactions int     `json:"compactions"`
		Rewinds     []int64 `json:"rewinds"` // the contexts that they went back to
	}
	text, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]file
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for name, w := range want {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		f := NewFold(name, false)
		got := file{}
		var e transcript.Entry
		for line := range bytes.Lines(data) {
			if _, err := f.Line(bytes.TrimSuffix(line, []byte{'\n'}), len(line), &e); err != nil {
				t.Fatal(err)
			}
			if e.Rewound {
				got.Rewinds = append(got.Rewinds, e.Context)
			}
		}
		s := f.Session
		got.Context, got.Cleared, got.Peak, got.Compactions = known(&s), s.Reading.Cleared, s.Peak, s.Total()
		if d := cmp.Diff(w, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
