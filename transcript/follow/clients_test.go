package follow

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sm/handoff/proc"
	"sm/transcript"
)

// TestClients reads the client's registry: entries are added, changed and removed, and an
// entry whose process has ended, or is another one with the same pid, does not count.
func TestClients(t *testing.T) {
	r := newRig(t)
	r.o.Rescan = 0
	entries := make(chan []transcript.Client)
	r.o.Clients = entries
	r.o.Alive = proc.Alive
	dir := filepath.Join(filepath.Dir(r.root), "sessions")
	pid := os.Getpid()
	path := filepath.Join(dir, fmt.Sprint(pid, ".json"))
	put := func(text string) {
		t.Helper()
		noErrors(t, os.WriteFile(path, []byte(text), 0o600))
	}
	entry := func(status, start string) string {
		return fmt.Sprintf(
			`{"pid":%d,"sessionId":%q,"status":%q,"procStart":%q,"name":7}`,
			pid,
			idA,
			status,
			start,
		)
	}
	want := func(what string, list ...transcript.Client) {
		t.Helper()
		r.registered(
			entries,
			what,
			func(got []transcript.Client) bool { return slices.Equal(list, got) },
		)
	}
	idle := transcript.Client{PID: pid, SessionID: idA, Status: "idle"}
	busy := transcript.Client{PID: pid, SessionID: idA, Status: "busy"}
	r.start() // before the client has ever run
	defer r.stop()
	noErrors(t, os.MkdirAll(dir, 0o700))
	put(entry("idle", ""))
	want("an entry", idle)
	put(entry("busy", "")[:30])
	put(entry("busy", ""))
	want("a change", busy)
	busy.Name = "web"
	put(strings.Replace(entry("busy", ""), "7}", `"web","nameSource":"user"}`, 1))
	want("the user's name", busy)
	busy.Name = ""
	put(strings.Replace(entry("busy", ""), "7}", `"web-4a","nameSource":"derived"}`, 1))
	want("a derived name", busy)
	put(entry("busy", "1"))
	want("another process under the same pid")
	put(entry("idle", ""))
	want("the first again", idle)
	noErrors(t, os.Remove(path))
	want("removed")
	put(fmt.Sprintf(`{"pid":%d,"sessionId":%q,"startedAt":1}`, pid, idB))
	starting := path
	path = filepath.Join(dir, "2.json")
	put(entry("idle", ""))
	want("beside one that starts", idle)
	noErrors(t, os.Chtimes(starting, time.Time{}, time.Now().Add(-startingFor)))
	want("one that is not updated", idle, transcript.Client{PID: pid, SessionID: idB, Starting: true})
}
