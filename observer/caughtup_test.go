package observer

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sm/observer/api"
)

// TestCaughtUpIsTold once, with the number of idle transcripts.
func TestCaughtUpIsTold(t *testing.T) {
	r := newWatched(t)
	for n := range 3 {
		path := filepath.Join(r.o.Projects[0], "-home-dev-api", uuid(n+1)+".jsonl")
		appendLines(t, path, reply(ago(48*time.Hour), "m1", 1000, 10))
		noErrors(t, os.Chtimes(path, time.Time{}, time.Now().Add(-48*time.Hour)))
	}
	told := make(chan int, 2)
	r.o.CaughtUp = func(transcripts int) { told <- transcripts }
	r.start()
	if n := <-told; n != 3 {
		t.Errorf("%d transcripts, want 3", n)
	}
	r.stop()
	if len(told) > 0 {
		t.Error("told twice")
	}
}

// TestNoticesOfThePastKeepTheirTime: a notice about what was found at the start counts as made when that happened.
func TestNoticesOfThePastKeepTheirTime(t *testing.T) {
	r := newRig(t)
	at := time.Now().Add(-6 * time.Minute).UTC().Truncate(time.Millisecond)
	r.write(uuid(1), prompt(stamp(at.Add(-time.Minute)), "p1", "go"), reply(stamp(at), "m1", 150_000, 10))
	r.start()
	r.fire("other", uuid(9), "SessionStart", `,"source":"startup"`)
	var all api.Messages
	r.until("the notice is there", func() bool {
		all = api.Messages{}
		noErrors(t, json.Unmarshal([]byte(r.ask(http.MethodGet, "/messages", "").Body), &all))
		return len(all.Messages) > 0
	})
	if m := all.Messages[0]; m.Kind != "critical" || !m.MadeAt.Equal(at) {
		t.Errorf("%+v, want it made at %v", m, at)
	}
}
