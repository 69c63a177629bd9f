package observer

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// infos are the labels of agent_session_info by session_id.
func (r *rig) infos() map[string]map[string]string {
	r.t.Helper()
	families, err := parse(r.get("/metrics").Body)
	if err != nil {
		r.t.Fatal(err)
	}
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

// exportedAt is what a scrape at some time would show.
func (r *rig) exportedAt(at time.Time) (labels []string, unexported int) {
	r.t.Helper()
	s, err := r.app.snapshot(r.t.Context(), at)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, v := range s.Sessions {
		labels = append(labels, v.Label)
	}
	return labels, s.Unexported
}

// TestSeriesLeave: sessions that rest have no series, unless their client runs.
func TestSeriesLeave(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, age := range []time.Duration{time.Minute, 59 * time.Minute, 2 * time.Hour, 48 * time.Hour} {
		r.write(uuid(i), reply(ago(age), fmt.Sprint("m", i), 50_000, 1))
		r.age(uuid(i), age)
	}
	r.write(uuid(4), `{"type":"assistant","message":{"usage":{"input_tokens":9}}}`) // no time but the file's
	r.client(4711, uuid(3), "")
	r.start()
	r.until("the client is known", func() bool { _, there := r.infos()[uuid(3)]; return there })
	now := time.Now()
	for _, tc := range []struct {
		ttl  time.Duration
		at   time.Time
		want []string
	}{
		{time.Hour, now, []string{uuid(0)[:8], uuid(3)[:8], uuid(1)[:8], uuid(4)[:8]}},
		{time.Hour, now.Add(30 * time.Minute), []string{uuid(0)[:8], uuid(3)[:8], uuid(4)[:8]}},
		{time.Hour, now.Add(2 * time.Hour), []string{uuid(3)[:8]}},
		{3 * time.Hour, now, []string{uuid(0)[:8], uuid(2)[:8], uuid(3)[:8], uuid(1)[:8], uuid(4)[:8]}},
		{0, now.Add(99 * time.Hour), []string{uuid(0)[:8], uuid(2)[:8], uuid(3)[:8], uuid(1)[:8], uuid(4)[:8]}},
	} {
		r.app.settings.Store(&Settings{SessionTTL: tc.ttl, MaxSessions: 500}) // nothing else asks at this time
		got, _ := r.exportedAt(tc.at)
		want := map[string]bool{}
		for _, label := range tc.want {
			want[label] = true
		}
		shown := map[string]bool{}
		for _, label := range got {
			shown[label] = true
		}
		if diff := cmp.Diff(want, shown); diff != "" {
			t.Errorf("idle for %v, in %v (-want +got):\n%s", tc.ttl, tc.at.Sub(now), diff)
		}
	}
	if a := r.get("/sessions"); strings.Count(a.Body, `"session_id"`) != 5 {
		t.Errorf("GET /sessions leaves some out: %s", a.Body)
	}
}

// longestValue bounds a label's value that comes from a transcript, in bytes.
const longestValue = 128

// hostileProjects are working directories, as JSON, and what may show of them.
func hostileProjects() map[string]string {
	return map[string]string{
		`"/home/dev/web"`:                                             "web",
		`"C:\\Users\\dev\\web"`:                                       "web",
		`"/home/dev/m\u00fcsli \u00a0x"`:                              "müsli �x",
		"\"/home/dev/\xff\xfe\xc3\"":                                  "���",
		`"/home/dev/\ud800x"`:                                         "�x",
		`"/home/dev/a\nb\tc\u0000d\u001b[2J"`:                         "a�b�c�d�[2J",
		`"/home/dev/\"} 1\n#\\\"x"`:                                   `"x`,
		`"/home/dev/x\"} 1\nclaude 2"`:                                "x\"} 1�claude 2",
		`"/home/dev/\u202eexe.\u200b"`:                                "�exe.�",
		`"/home/dev/` + strings.Repeat("a", 10_000) + `"`:             strings.Repeat("a", 125) + "…",
		`"/home/dev/` + strings.Repeat("\\u00e9", 5_000) + `"`:        strings.Repeat("é", 62) + "…",
		`"/home/dev/` + strings.Repeat("b", longestValue) + `"`:       strings.Repeat("b", longestValue),
		`"/home/dev/` + strings.Repeat("c", longestValue+1) + `"`:     strings.Repeat("c", 125) + "…",
		`"/home/dev/` + strings.Repeat("\\u0000", longestValue) + `"`: strings.Repeat("�", 41) + "…",
		`"/"`:   "",
		`""`:    "",
		`"///"`: "",
		`7`:     "",
	}
}

// TestSeriesHostile: whatever a transcript says, the exposition stays one.
func TestSeriesHostile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	want, got, n := map[string]string{}, map[string]string{}, 0
	for cwd, project := range hostileProjects() {
		id := uuid(n)
		n++
		r.write(id, strings.Replace(reply(ago(time.Minute), id, 50_000, 1), `"/home/dev/web"`, cwd, 1))
		want[id] = project
	}
	evil := `x\"} 9\n\u0000` + strings.Repeat("y", 10_000)
	record := strings.Replace(reply(ago(time.Minute), "evil", 50_000, 1), `"2.1.197"`, `"`+evil+`"`, 1)
	record = strings.Replace(record, `"claude-haiku-4-5"`, "\"\xff"+evil+`"`, 1)
	record = strings.Replace(record, `{"type"`, `{"sessionId":"`+evil+`","type"`, 1)
	r.write("evil", record)
	r.start()
	a := r.get("/metrics")
	if !utf8.ValidString(a.Body) {
		t.Error("not UTF-8")
	}
	families, err := parse(a.Body)
	noErrors(t, err)
	for _, f := range families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if v := l.GetValue(); len(v) > longestValue || strings.ContainsFunc(v, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("%s: %s is %q", f.GetName(), l.GetName(), v)
				}
			}
		}
	}
	infos := r.infos()
	if len(infos) != n+1 {
		t.Errorf("%d sessions, want %d", len(infos), n+1)
	}
	for id := range want {
		got[id] = infos[id]["project"]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("projects (-want +got):\n%s", diff)
	}
}

// TestSeriesHideProject: the project can be switched off, and nothing takes its place.
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
		t.Error("the project shows elsewhere")
	}
}
