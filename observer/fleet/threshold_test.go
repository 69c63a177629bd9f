package fleet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/transcript/claude/hook"
)

// assumed are the sizes at which the events of an agent say that its client compacts.
func (s *scene) assumed(agent string) (all []int64) {
	for _, ev := range s.news.Events {
		if ev.Agent == alerts.AgentID(agent) && (ev.Kind == alerts.EventReading || ev.Kind == alerts.EventCompacted) {
			all = append(all, ev.CompactsAt)
		}
	}
	return all
}

func told(o hook.Origin, a hook.AutoCompact) hook.Origin {
	o.AutoCompact = a
	return o
}

func TestAssumedThresholds(t *testing.T) {
	web := from("web", 7)
	small := hook.AutoCompact{Percent: "50"} // the window is 1,000,000
	tests := []struct {
		name  string
		steps []step
		want  []int64
	}{
		{"told nothing", []step{starts(0, 1, "startup", web), answers(1, 1, 9000)}, []int64{967_000}},
		{
			"half of the window",
			[]step{starts(0, 1, "startup", told(web, small)), answers(1, 1, 9000)},
			[]int64{490_000},
		},
		{"off", []step{starts(0, 1, "startup", told(web, hook.AutoCompact{
			Off: true,
		})), answers(1, 1, 9000)}, []int64{0}},
		{"told while the context stays", []step{
			starts(0, 1, "startup", web), answers(1, 1, 9000), fires(2, 1, hook.UserPromptSubmit, told(web, small)),
			fires(3, 1, hook.UserPromptSubmit, told(web, small)),
		}, []int64{967_000, 490_000}},
		{"by the status line", []step{
			starts(0, 1, "startup", web), answers(1, 1, 9000), shows(2, 1, 9000, told(web, small)),
		}, []int64{967_000, 490_000, 90_000, 90_000}}, // what it was told, a window of 200,000, the report
		{"the next client is told nothing", []step{
			starts(0, 1, "startup", told(web, small)), answers(1, 1, 9000), starts(2, 1, "resume", from("web", 8)),
			fires(3, 1, hook.UserPromptSubmit, from("web", 8)),
		}, []int64{490_000, 967_000}},
		{"a subagent's hook", []step{
			starts(0, 1, "startup", web), answers(1, 1, 9000),
			hooked(2, 1, hook.Payload{Event: hook.PostToolUse, AgentID: "x"}, told(web, small)),
		}, []int64{967_000}},
		{"another provider's", []step{
			starts(0, 1, "startup", hook.Origin{
				Agent:    "web",
				PID:      7,
				Start:    "700",
				Provider: "codex",
			}), answers(1, 1, 9000),
		}, []int64{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, newScene(t).play(tt.steps...).assumed("web")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Settings of a client are kept, and apply to its agent alone.
func TestToldIsKept(t *testing.T) {
	s := newScene(t).play(
		starts(0, 1, "startup", told(from("web", 7), hook.AutoCompact{
			Percent: "50",
			Models:  map[string]int64{"m": 0, "a": 5},
		})),
		starts(0, 2, "startup", from("api", 8)))
	d, _ := s.f.Take()
	s.start(Stored{Settled: true, Agents: d.Agents, Records: d.Records})
	s.play(answers(1, 1, 9000), answers(1, 2, 9000))
	if diff := cmp.Diff([][]int64{{490_000}, {967_000}}, [][]int64{s.assumed("web"), s.assumed("api")}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
