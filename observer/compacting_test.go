package observer

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestOperatorHearsOfCompactions: of agents without a parent, once for each compaction, unless that is switched off.
func TestOperatorHearsOfCompactions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parent string
		on     bool
		want   int
	}{
		"no parent": {"", true, 2}, "switched off": {"", false, 0}, "a parent": {`,"parent_session_id":"boss"`, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newWatched(t)
			r.o.Alerts.OperatorCompactions, r.o.Alerts.Storm.Count, r.o.Alerts.Storm.Turns = c.on, 0, 0
			r.start()
			r.joins("boss", "")
			r.joins("em", c.parent)
			r.fire("em", uuid(1), "SessionStart", `,"source":"startup"`)
			r.write(uuid(1), prompt(ago(0), "p1", "Go."), reply(ago(0), "m1", 155_000, 10))
			r.until("it is read", func() bool { return r.session("em").TokensUsed != nil })
			var at time.Time
			for i, id := range []string{"b1", "b2"} {
				r.fire("em", uuid(1), "PreCompact", `,"trigger":"auto"`)
				at = slices.MaxFunc([]time.Time{time.Now().Add(2 * time.Millisecond), at.Add(10 * time.Millisecond)}, time.Time.Compare) // records have whole milliseconds, and it began before
				r.write(uuid(1), boundary(stamp(at), id, "auto", 155_000), reply(stamp(at.Add(time.Millisecond)), id+"m", 40_000, 10))
				r.until("the next cycle", func() bool { v := r.session("em"); return v.Cycle == i+2 && v.TokensUsed != nil })
				r.fire("em", uuid(1), "PostCompact", `,"trigger":"auto"`)
			}
			r.stop()
			if got := strings.Count(r.log.String(), `text="[sm context] em was compacted, auto, 155,000 tokens, and is still running."`); got != c.want {
				t.Errorf("the operator heard %d times, want %d\n%s", got, c.want, r.log)
			}
		})
	}
}

// TestPreCompactIsLogged: how full the context was, and whether the agent had heard of it.
func TestPreCompactIsLogged(t *testing.T) {
	t.Parallel()
	for want, step := range map[string]func(r *rig){
		`notice="too late" tokens=136000 window=200000 used_percentage=68`: func(*rig) {},
		`notice=offered tokens=136000 window=200000 used_percentage=68`:    func(r *rig) { r.fire("em", uuid(1), "PostToolUse", "") },
		`notice=heard tokens=136000 window=200000 used_percentage=68`: func(r *rig) {
			r.write(uuid(1), attachment(ago(0), r.fire("em", uuid(1), "PostToolUse", "")))
			r.until("it was heard", func() bool { return strings.Contains(strings.Join(r.mail(), "\n"), "critical confirmed") })
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			r := newWatched(t)
			r.start()
			r.joins("em", "")
			r.fire("em", uuid(1), "SessionStart", `,"source":"startup"`)
			r.write(uuid(1), prompt(ago(0), "p1", "Go."), reply(ago(0), "m1", 136_000, 10))
			r.until("it is critical", func() bool { return strings.Contains(strings.Join(r.mail(), "\n"), "critical") })
			step(r)
			r.fire("em", uuid(1), "PreCompact", `,"trigger":"auto"`)
			r.stop()
			if line := `level=WARN msg="a compaction begins" agent=em trigger=auto ` + want; strings.Count(r.log.String(), line) != 1 {
				t.Errorf("no line %s\n%s", line, r.log)
			}
		})
	}
}

// TestPostedCompactionIsLogged: a compaction that a script reports gives the same log
// line as the hook.
func TestPostedCompactionIsLogged(t *testing.T) {
	t.Parallel()
	r := newWatched(t)
	r.start()
	r.joins("em", "")
	r.usage(`{"session_id":"em","event":"compaction","trigger":"auto"}`)
	r.stop()
	if line := `level=WARN msg="a compaction begins" agent=em trigger=auto notice="too late"`; !strings.Contains(r.log.String(), line) {
		t.Errorf("no line %s\n%s", line, r.log)
	}
}
