package follow

import (
	"context"
	"log/slog"
	"testing"

	"sm/transcript"
)

// TestWrittenWhileRead: a file that something happened to while a worker read it is followed at once. To read it anew
// finds nothing new, and nothing to follow it with.
func TestWrittenWhileRead(t *testing.T) {
	r := newRig(t)
	path := r.path("-p", idA+".jsonl")
	r.append(path, reply(1, 100))
	o := r.o
	o.Logger = slog.New(slog.DiscardHandler)
	o.defaults()
	ctx, cancel := context.WithCancel(t.Context())
	out := make(chan transcript.Change, 10)
	index := newIndex(newWatcher(true, o.Logger), o.Logger, 1)
	index.roots.add(o.Roots[0], false)
	f := &follower{
		Options: o,
		index:   index,
		reader:  &fileReader{Options: o, roots: &index.roots, out: out},
		exits:   make(chan exit),
		live:    map[*file]struct{}{},
		failing: map[*file]error{},
		caught:  true,
	}
	fl := index.enter(path, 0)
	fl.state = busy
	res := f.reader.read(ctx, fl, &workspace{buf: make([]byte, bufferBytes)})
	f.enqueue(fl)
	f.done(ctx, res)
	if fl.state != live || len(f.queue) > 0 {
		t.Fatalf("state %d, %d files to be read", fl.state, len(f.queue))
	}
	r.append(path, reply(2, 200))
	for end := int64(0); end < 2*int64(len(reply(1, 100))); { // what has been written since is found too
		end = (<-out).Cursor.Offset
	}
	cancel()
	f.drain()
}
