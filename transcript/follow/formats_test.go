package follow

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"sm/transcript"
	"sm/transcript/codex"
)

// TestFormats tests that roots of two clients are followed together, each by its format, that
// a compressed file is read once, and again when it has changed, and that a lock that is
// taken again is a running client again.
func TestFormats(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		var held atomic.Bool
		held.Store(true)
		home := filepath.Join(filepath.Dir(r.root), "codex")
		other := codex.Format(func(string) (transcript.Holder, bool) {
			return transcript.Holder{}, held.Load()
		})
		clients := make(chan []transcript.Client, 1)
		r.o.Clients = clients
		r.o.Roots = append(r.o.Roots, Root{filepath.Join(home, "sessions"), other})

		day := filepath.Join(home, "sessions", "2026", "11", "20")
		plain := filepath.Join(day, codexName)
		packed := filepath.Join(day, strings.Replace(codexName, idA, idB, 1)+packedEnd)
		foreign := filepath.Join(day, idA+".jsonl")
		own := r.path("-p", idB+".jsonl")
		r.append(own, reply(1, 100))
		r.append(plain, reply(1, 100))
		r.append(foreign, reply(1, 100))
		r.append(packed, pack(t, reply(2, 200)+reply(3, 300)))
		lock := filepath.Join(home, "thread-writer-locks", idA+".lock")
		r.append(lock, "")
		r.start()
		if len(clients) == 0 {
			t.Error("caught up before the clients were sent")
		}
		r.hold("found", map[string]int64{own: 1, plain: 1, packed: 2})
		r.append(plain, reply(4, 400))
		r.write(packed, pack(t, reply(2, 200)+reply(3, 300)+reply(5, 500)), os.O_TRUNC)
		r.hold("grown", map[string]int64{plain: 2, packed: 3})
		for path, want := range map[string]transcript.Change{
			own:    {Client: "claude", Name: idB},
			plain:  {Client: "codex", Name: idA},
			packed: {Client: "codex", Name: idB},
		} {
			if c := r.files[path]; c.Client != want.Client || c.Name != want.Name {
				t.Errorf("%s: got %s %s; want %+v", path, c.Client, c.Name, want)
			}
		}
		if _, there := r.files[foreign]; there {
			t.Error("a file of another format is followed")
		}
		registered := func(n int) {
			t.Helper()
			r.registered(
				clients,
				"entries",
				func(got []transcript.Client) bool { return len(got) == n },
			)
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
