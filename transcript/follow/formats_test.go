package follow

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"sm/transcript"
	"sm/transcript/claude"
)

// otherFold is the fold of another client, whose records name a parent.
type otherFold struct{ *claude.Fold }

func (otherFold) Facts() transcript.Facts { return transcript.Facts{Parent: idB} }

// otherFormat is that of a client which keeps its files in folders by date, some of them
// compressed, and whose open sessions are those with a lock that is held.
func otherFormat(held *atomic.Bool) *transcript.Format {
	return &transcript.Format{
		Client: "other",
		Identify: func(path string) (transcript.File, bool) {
			base, ok := strings.CutPrefix(filepath.Base(path), "rollout-")
			name, _, _ := strings.Cut(base, ".jsonl")
			return transcript.File{Name: name}, ok && (base == name+".jsonl" || base == name+".jsonl.gz")
		},
		NewFold: func(f transcript.File) transcript.Fold { return otherFold{claude.NewFold(f.Name, f.Subagent)} },
		Content: func(_ context.Context, path string, file io.ReaderAt, size int64) transcript.Text {
			if !strings.HasSuffix(path, ".gz") {
				return nil
			}
			var text []byte
			if z, err := gzip.NewReader(io.NewSectionReader(file, 0, size)); err == nil {
				text, _ = io.ReadAll(z)
			}
			return bytes.NewReader(text)
		},
		Registry: &transcript.Registry{
			Dir:   func(root string) string { return filepath.Join(filepath.Dir(root), "locks") },
			Entry: func(name string) bool { return strings.HasSuffix(name, ".lock") },
			Read: func(name string, _ []byte) (transcript.Client, bool) {
				return transcript.Client{SessionID: strings.TrimSuffix(name, ".lock")}, true
			},
			Runs: func(_ string, c transcript.Client) (transcript.Client, bool) { return c, held.Load() },
		},
	}
}

// TestFormats: roots of two clients are followed side by side, each by its own format; a
// compressed file is read once, and again when it has changed; a lock that is taken again
// is a running client again.
func TestFormats(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		var held atomic.Bool
		held.Store(true)
		other := otherFormat(&held)
		clients := make(chan []transcript.Client)
		sessions := filepath.Join(filepath.Dir(r.root), "other", "sessions")
		r.o.Clients, r.o.Roots = clients, append(r.o.Roots, Root{sessions, other})
		day := filepath.Join(sessions, "2026", "11", "20")
		plain := filepath.Join(day, "rollout-"+idA+".jsonl")
		packed := filepath.Join(day, "rollout-"+idA+"_2.jsonl.gz")
		foreign := filepath.Join(day, idA+".jsonl")
		pack := func(text string) {
			t.Helper()
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, err := z.Write([]byte(text))
			r.must(err)
			r.must(z.Close())
			r.must(os.WriteFile(packed, b.Bytes(), 0o600))
		}
		own := r.path("-p", idB+".jsonl")
		r.append(own, reply(1, 100))
		r.append(plain, reply(1, 100))
		r.append(foreign, reply(1, 100))
		pack(reply(2, 200) + reply(3, 300))
		lock := filepath.Join(filepath.Dir(sessions), "locks", idA+".lock")
		r.must(os.MkdirAll(filepath.Dir(lock), 0o700))
		r.must(os.WriteFile(lock, nil, 0o600))
		r.start()
		r.hold("found", map[string]int64{own: 1, plain: 1, packed: 2})
		r.append(plain, reply(4, 400))
		pack(reply(2, 200) + reply(3, 300) + reply(5, 500))
		r.hold("grown", map[string]int64{plain: 2, packed: 3})
		for path, want := range map[string]transcript.Change{
			own:    {Client: "claude", Name: idB},
			plain:  {Client: "other", Name: idA, Parent: idB},
			packed: {Client: "other", Name: idA + "_2", Parent: idB},
		} {
			if c := r.files[path]; c.Client != want.Client || c.Name != want.Name || c.Parent != want.Parent {
				t.Errorf("%s: %s %s of %q; want %+v", path, c.Client, c.Name, c.Parent, want)
			}
		}
		if _, there := r.files[foreign]; there {
			t.Error("a file that the other client's format does not know is followed")
		}
		registered := func(n int) {
			t.Helper()
			r.registered(clients, "entries", func(got []transcript.Client) bool { return len(got) == n })
		}
		registered(1)
		held.Store(false)
		registered(0)
		held.Store(true)
		registered(1)
		cursor := r.files[packed].Cursor
		info, err := os.Stat(packed)
		r.must(err)
		if cursor.Size != info.Size() || cursor.Offset <= cursor.Size {
			t.Errorf("the cursor of a compressed file of %d bytes: %+v", info.Size(), cursor)
		}
	})
}
