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

	"github.com/klauspost/compress/zstd"
)

// TestIdentify tests that the names of a thread's files contain its id.
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

// TestContent tests that a compressed transcript is unpacked under any name, and that a
// damaged one cannot be read.
func TestContent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&all, "%04d\n", i)
	}
	text := all.String()
	z, err := zstd.NewWriter(nil)
	noErrors(t, err)
	path := filepath.Join(dir, "x.jsonl.zst")
	write := func(b []byte) {
		t.Helper()
		noErrors(t, os.WriteFile(path, b, 0o600))
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
	whole := content(t.Context(), path, bytes.NewReader(packed), int64(len(packed)))
	for _, at := range []int64{0, 6000, 6010, 3, 9000, 8990, 14_990} { // forwards and back
		b := make([]byte, 10)
		if _, err := whole.ReadAt(b, at); err != nil || string(b) != text[at:at+10] {
			t.Errorf("at %d: %q %v", at, b, err)
		}
	}
	half := content(t.Context(), path, bytes.NewReader(packed), int64(len(packed)/2))
	if _, err := io.ReadAll(io.NewSectionReader(half, 0, half.Size())); err == nil {
		t.Error("half a file was read without an error")
	}
}

// TestContentCancelled tests that unpacking ends with its context, in the middle of a file
// and of a read.
func TestContentCancelled(t *testing.T) {
	t.Parallel()
	z, err := zstd.NewWriter(nil)
	noErrors(t, err)
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
