package follow

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sm/transcript"
)

// TestEventsAlone tests that inotify finds changes that the search of all folders would find
// only minutes later.
func TestEventsAlone(t *testing.T) {
	t.Parallel()
	if !alone(t, 1) {
		return
	}
	unprivileged(t)
	nested := filepath.Join(idA, "subagents", "agent-1.jsonl")
	for _, c := range []struct {
		name   string
		before func(r *rig)
		do     func(r *rig)
	}{
		{"a folder of folders was moved", nil, func(r *rig) {
			r.must(os.Rename(r.path("-p"), r.path("-q")))
			r.settle("moved")
			r.append(r.path("-q", nested), reply(2, 100))
			r.append(r.path("-q", idA, "subagents", "agent-2.jsonl"), reply(3, 100))
		}},
		{"a folder was moved away and back", nil, func(r *rig) {
			away := filepath.Join(filepath.Dir(r.root), "away")
			r.must(os.Rename(r.path("-p"), away))
			r.settle("moved")
			r.must(os.Rename(away, r.path("-q")))
			r.settle("moved back")
			r.append(r.path("-q", nested), reply(2, 100))
		}},
		{
			"a folder becomes readable",
			func(r *rig) { r.chmod(r.path("-p"), 0o600) },
			func(r *rig) { r.chmod(r.path("-p"), 0o700) },
		},
		{"a folder becomes readable again", nil, func(r *rig) {
			file, err := os.OpenFile(r.path("-p", idA+".jsonl"), os.O_APPEND|os.O_WRONLY, 0)
			r.must(err)
			r.chmod(r.path("-p"), 0o600)
			_, err = file.WriteString(reply(2, 100))
			r.must(err)
			r.must(file.Close())
			r.idle(100 * time.Millisecond)
			r.chmod(r.path("-p"), 0o700)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.o.Rescan = 24 * time.Hour
			r.o.ActiveFor = time.Nanosecond // a file that is not live is read only after events
			r.append(r.path("-p", idA+".jsonl"), reply(1, 100))
			r.append(r.path("-p", nested), reply(1, 100))
			if c.before != nil {
				c.before(r)
			}
			r.start()
			if c.before == nil {
				r.settle("at the start")
			}
			r.idle(300 * time.Millisecond)
			c.do(r)
			r.settle(c.name)
			r.stop()
		})
	}
}

// TestRegistryDenied tests that a registry is read again when it is readable again.
func TestRegistryDenied(t *testing.T) {
	t.Parallel()
	if !alone(t, 1) {
		return
	}
	unprivileged(t)
	r := newRig(t)
	entries := make(chan []transcript.Client, 1)
	r.o.Rescan = 24 * time.Hour
	r.o.Clients = entries
	dir := filepath.Join(filepath.Dir(r.root), "sessions")
	put := func(pid int) {
		text := fmt.Sprintf(
			`{"pid":%d,"sessionId":%q,"status":"idle","procStart":""}`,
			pid,
			idA,
		)
		r.write(filepath.Join(dir, fmt.Sprint(pid, ".json")), text, os.O_TRUNC)
	}
	want := func(what string, n int) {
		t.Helper()
		r.registered(
			entries,
			what,
			func(got []transcript.Client) bool { return len(got) == n },
		)
	}
	r.must(os.MkdirAll(dir, 0o700))
	put(101)
	r.start()
	defer r.stop()
	want("at the start", 1)
	r.chmod(dir, 0o300)
	put(102)
	want("unreadable", 0)
	r.chmod(dir, 0o700)
	want("readable", 2)
}
