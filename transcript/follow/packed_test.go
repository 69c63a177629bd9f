package follow

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"sm/transcript"
	"sm/transcript/codex"
)

// TestPackedInPlace tests that a compressed transcript that is found before its first bytes
// are written is read once they are, under any name.
func TestPackedInPlace(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		r.speaks(codex.Format(nil))
		text := pack(t, string(thread(t, "plain")))
		for _, name := range []string{codexName + packedEnd, codexName} {
			path := r.path("2026", "11", "20", name)
			for _, k := range []int{0, 1, 3} {
				r.write(path, text[:k], os.O_TRUNC)
				if r.out == nil {
					r.start()
				}
				r.settle("seen before there is anything to unpack")
				r.append(path, text[k:])
				r.settle(fmt.Sprintf("%s, %d bytes at first: complete", name, k))
				if n := r.files[path].Session.Messages; n < 2 {
					t.Errorf("%s, %d bytes at first: %d messages", name, k, n)
				}
			}
		}
	})
}

// TestEveryOffsetOfPacked tests that a compressed transcript that ends anywhere is either
// refused or has no lines, and that all of it is counted once when it is complete.
func TestEveryOffsetOfPacked(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("uses one goroutine, and is ten times as slow with the race detector")
	}
	plain := thread(t, "plain")
	format := codex.Format(nil)
	path := filepath.Join("x", codexName) + packedEnd
	text := []byte(pack(t, string(plain)))
	p := newReader(t, format, filepath.Base(path), text)
	want, messages := foldedWhole(format, plain)
	for k := range text {
		noErrors(t, os.WriteFile(p.path, text[:k], 0o600))
		first, cursor, err := p.try(transcript.Cursor{}, false)
		if len(first) > 1 ||
			len(first) == 1 &&
				(err != nil || len(first[0].Messages) > 0 || first[0].Session.Lines > 0) ||
			k >= 4 && err == nil {
			t.Fatalf("cut at byte %d of %d: error %v, %+v", k, len(text), err, first)
		}
		noErrors(t, os.WriteFile(p.path, text, 0o600))
		second, _, err := p.try(cursor, err == nil)
		if err != nil {
			t.Fatalf("complete, after a cut at byte %d: %v", k, err)
		}
		var got []transcript.Message
		for _, c := range second {
			got = append(got, c.Messages...)
		}
		if d := cmp.Diff(
			messages,
			got,
		); d != "" ||
			!cmp.Equal(want, second[len(second)-1].Session) {
			t.Fatalf("cut at byte %d of %d (-want +got):\n%s", k, len(text), d)
		}
	}
}

// foldedWhole returns the end of a transcript, and all of its messages.
func foldedWhole(
	format *transcript.Format,
	text []byte,
) (transcript.Session, []transcript.Message) {
	all := restarts(format, text)
	return all[0].sessions[1], all[0].messages[1]
}

// TestDamagedOnce tests that a file that cannot be unpacked is tried again only when it has
// changed.
func TestDamagedOnce(t *testing.T) {
	t.Parallel()
	modes(t, func(t *testing.T, r *rig) {
		var tries atomic.Int64
		format := codex.Format(nil)
		unpack := format.Content
		format.Content = func(ctx context.Context, path string, file io.ReaderAt, size int64) transcript.Text {
			tries.Add(1)
			return unpack(ctx, path, file, size)
		}
		r.speaks(format)
		text := pack(t, string(thread(t, "plain")))
		path := r.path("2026", "11", "20", codexName+packedEnd)
		r.write(path, text[:len(text)/2], os.O_TRUNC)
		old := time.Now().Add(-time.Hour)
		noErrors(t, os.Chtimes(path, old, old))
		r.start()
		r.idle(3 * time.Second)
		if n := tries.Load(); n != 1 {
			t.Errorf("a damaged file is unpacked %d times, want 1", n)
		}
		r.write(path, text, os.O_TRUNC)
		r.until("the whole file", func() bool { return r.files[path].Session.Messages > 1 })
	})
}

// TestLargePacked tests that the memory for a compressed transcript depends on its longest
// line, not on its length.
func TestLargePacked(t *testing.T) {
	if testing.Short() {
		t.Skip("unpacks 300 MiB")
	}
	const output = `{"timestamp":"2026-11-20T08:00:00.000Z","type":"response_item","payload":{"type":"function_call_output","output":"%s"}}` + "\n"
	var want int64
	var file bytes.Buffer
	z, err := zstd.NewWriter(&file, zstd.WithEncoderConcurrency(1))
	noErrors(t, err)
	write := func(text string) {
		want += int64(len(text))
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	story := string(thread(t, "plain"))
	short := strings.Repeat(fmt.Sprintf(output, strings.Repeat("short ", 1000)), 1000)
	long := fmt.Sprintf(output, strings.Repeat("long ", 1<<20))
	const times = 2
	for range times {
		for range 22 {
			write(short)
		}
		write(long)
		write(long)
		write(story)
	}
	noErrors(t, z.Close())

	p := newReader(t, codex.Format(nil), codexName, file.Bytes())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	changes := p.read(transcript.Cursor{}, false)
	runtime.ReadMemStats(&after)
	if len(changes) != 1 {
		t.Fatalf("%d changes", len(changes))
	}
	once, _ := foldedWhole(p.format, []byte(story))
	if s := changes[0].Session; s.Bytes != want || s.Messages != times*once.Messages ||
		s.Tokens.Input != times*once.Tokens.Input ||
		s.Bad != 0 {
		t.Errorf("got %+v; want %d bytes, and %d times %+v", s, want, times, once)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > times*2*uint64(len(long))+32<<20 {
		t.Errorf("%d MiB were allocated for %d MiB of text", n>>20, want>>20)
	}
}
