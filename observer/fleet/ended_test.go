package fleet

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript/claude/hook"
)

// buries looks for ended processes at a time.
func buries(at float64) step { return func(s *scene) { s.f.Bury(second(at)) } }

// doing is what a view says of whether somebody is at work there.
type doing struct{ Live, Ended, Past bool }

// TestEnded: a client that has ended, by its last hook or because its process is gone, is
// neither at work nor idle. A registry without its entry proves nothing while the process
// runs.
func TestEnded(t *testing.T) {
	const pid = 7
	atWork := doing{Live: true}
	ended := doing{Ended: true}
	past := doing{Past: true}
	o := from("em", pid)
	goes := func(reason string) step {
		return hooked(20, 1, hook.Payload{Event: hook.SessionEnd, Reason: reason}, o)
	}
	asks := writes(1, prompt(stampOf(10), "p"))
	begins := []step{starts(1, 1, "startup", o), asks}
	bare := from("", pid)
	bare.Start = ""
	for _, tt := range []struct {
		name  string
		steps []step
		want  doing
	}{
		{"in a turn", begins, atWork},
		{"its process lives", []step{begins[0], asks, buries(30)}, atWork},
		{"killed in a turn", []step{begins[0], asks, ends(pid), buries(30)}, ended},
		{"killed before its first record", []step{begins[0], ends(pid), buries(30)}, ended},
		{"killed and buried twice", []step{begins[0], asks, ends(pid), buries(30), buries(34)}, ended},
		{
			"killed, and the registry still lists it",
			[]step{begins[0], asks, holds(5, pid, 1), ends(pid), buries(30)},
			atWork,
		},
		{
			"killed, and the registry lists it no more",
			[]step{begins[0], asks, holds(5, pid, 1), holds(25), ends(pid), buries(30)},
			ended,
		},
		{
			"the registry lists it no more and it lives",
			[]step{begins[0], asks, holds(5, pid, 1), holds(25), buries(30)},
			atWork,
		},
		{"only the registry knew it", []step{asks, holds(5, pid, 1), holds(25), ends(pid), buries(30)}, ended},
		{"only the registry knew it, it lives", []step{asks, holds(5, pid, 1), holds(25), buries(30)}, atWork},
		{
			"only the registry knew it, and lists another process",
			[]step{asks, holds(5, pid, 1), holds(25), ends(pid), buries(30), holds(40, 8, 1), holds(45), buries(50)},
			atWork,
		},
		{
			"only the registry knew it, then a hook speaks",
			[]step{asks, holds(5, pid, 1), holds(25), ends(pid), buries(30), fires(40, 1, hook.Stop, from("", 8))},
			atWork,
		},
		{"nobody knows its process", []step{asks, buries(30)}, atWork},
		{"its process has no start", []step{fires(1, 1, hook.Stop, bare), asks, ends(pid), buries(30)}, atWork},
		{"never seen to run, as behind another pid namespace", []step{ends(pid), begins[0], asks, buries(30)}, atWork},
		{"it says that it ends", []step{begins[0], asks, goes("other")}, ended},
		{"it says that it ends, of an old client", []step{begins[0], asks, goes("")}, ended},
		{"it says so and the process lingers", []step{begins[0], asks, goes("prompt_input_exit"), buries(30)}, ended},
		{
			"its last records come later",
			[]step{begins[0], asks, goes("other"), writes(1, prompt(stampOf(23), "q"))},
			ended,
		},
		{
			"another client writes on",
			[]step{begins[0], asks, goes("other"), writes(1, prompt(stampOf(40), "q"))},
			atWork,
		},
		{
			"killed, and another client writes on",
			[]step{begins[0], asks, ends(pid), buries(30), writes(1, prompt(stampOf(40), "q")), buries(50)},
			atWork,
		},
		{
			"taken up again",
			[]step{begins[0], asks, goes("other"), ends(pid), starts(40, 1, "resume", from("em", 8)), buries(50)},
			atWork,
		},
		{
			"taken up again and killed again",
			[]step{
				begins[0],
				asks,
				goes("other"),
				ends(pid),
				starts(40, 1, "resume", from("em", 8)),
				ends(8),
				buries(50),
			},
			ended,
		},
		{"a hook from before comes late", []step{begins[0], asks, goes("other"), fires(19, 1, hook.Stop, o)}, ended},
		{"the end itself comes late", []step{begins[0], asks, fires(30, 1, hook.Stop, o), goes("other")}, atWork},
		{"clear", []step{begins[0], asks, goes("clear")}, atWork},
		{
			"clear, and on in the next session",
			[]step{begins[0], asks, goes("clear"), starts(20.1, 2, "clear", o)},
			past,
		},
		{"clear, and killed before the next", []step{begins[0], asks, goes("clear"), ends(pid), buries(30)}, ended},
		{"on in another session, by the registry", []step{asks, holds(5, pid, 1), holds(15, pid, 2)}, past},
		{"after a restart", []step{begins[0], asks, goes("other"), restarts}, ended},
		{"killed, after a restart", []step{begins[0], asks, ends(pid), buries(30), restarts}, ended},
		{"killed while no observer ran", []step{begins[0], asks, restarts, ends(pid), buries(30)}, ended},
		{
			"known by the registry, killed while no observer ran",
			[]step{asks, holds(5, pid, 1), restarts, ends(pid), buries(30)},
			ended,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t).play(tt.steps...)
			s.f.Activity(second(60))
			found := false
			for v := range s.f.All(second(60)) {
				if v.SessionID != uuid(1) {
					continue
				}
				found = true
				if d := cmp.Diff(tt.want, doing{v.Live, v.Ended, v.Left}); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				if !v.Left && s.f.active[v.Agent] != v.Live { // an agent may be called after a session that it has left
					t.Errorf("shows as live: %t, at work are %v", v.Live, s.f.active)
				}
			}
			if !found {
				t.Error("the session does not show")
			}
		})
	}
}

// TestBuryAsksFew: only of those that were heard of lately and have an end to find it is
// asked whether they run, and of each that has ended once.
func TestBuryAsksFew(t *testing.T) {
	s := newScene(t)
	asked := map[int]int{}
	s.f.options.Alive = func(pid int, _ string) bool {
		asked[pid]++
		return !s.dead[pid]
	}
	for n := 1; n <= 6; n++ {
		s.play(
			starts(float64(n), n, "startup", from("a"+strconv.Itoa(n), 10+n)),
			writes(n, prompt(stampOf(10), "p"+strconv.Itoa(n))),
		)
	}
	s.play(holds(12, 11, 1), hooked(13, 2, hook.Payload{
		Event:  hook.SessionEnd,
		Reason: "other",
	}, from("a2", 12)), ends(13))
	clear(asked)
	s.play(buries(20), buries(24))
	if d := cmp.Diff(map[int]int{13: 1, 14: 2, 15: 2, 16: 2}, asked); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
	clear(asked)
	s.play(buries(3600))
	if len(asked) > 0 {
		t.Errorf("asked of those that are quiet: %v", asked)
	}
}
