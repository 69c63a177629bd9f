package observer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// infos returns the labels of agent_session_info by session_id.
func (r *rig) infos() map[string]map[string]string {
	r.t.Helper()
	families, err := parse(r.get("/metrics").Body)
	noErrors(r.t, err)
	all := map[string]map[string]string{}
	for _, m := range families["agent_session_info"].GetMetric() {
		labels := map[string]string{}
		for _, l := range m.Label {
			labels[l.GetName()] = l.GetValue()
		}
		if all[labels["session_id"]] != nil {
			r.t.Errorf("twice: %v", labels)
		}
		all[labels["session_id"]] = labels
	}
	return all
}

// TestSeriesHideProject tests that the project can be switched off without a replacement.
func TestSeriesHideProject(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.HideProject = true
	r.write(uuid(1), reply(ago(time.Minute), "m1", 50_000, 1))
	r.start()
	want := map[string]map[string]string{uuid(1): {
		"client": "claude", "session": uuid(1)[:8], "session_id": uuid(1), "project": "", "model": "claude-haiku-4-5", "version": "2.1.197", "window_source": "model",
	}}
	if diff := cmp.Diff(want, r.infos()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if body := r.get("/metrics").Body; strings.Contains(body, "web") {
		t.Error("the project is in another series")
	}
}

// TestSeriesLeave tests that inactive sessions have no series, unless their client
// runs.
func TestSeriesLeave(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, age := range []time.Duration{time.Minute, 2 * time.Hour, 48 * time.Hour} {
		r.write(uuid(i), reply(ago(age), fmt.Sprint("m", i), 50_000, 1))
		r.age(uuid(i), age)
	}
	r.client(4711, uuid(2), "")
	r.start()
	r.until("the client is known", func() bool { return len(r.infos()) == 2 })
	got := r.infos()
	if got[uuid(0)] == nil || got[uuid(2)] == nil {
		t.Errorf("sessions: %v", got)
	}
	if n := len(r.sessions()); n != 3 {
		t.Errorf("GET /sessions has %d, want 3", n)
	}
}
