package observer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/observer/curve"
	"sm/transcript"
)

func at(seconds int) time.Time { return time.Unix(1_772_452_800+int64(seconds), 0) }

// written is a history in few words: seconds:tokens, | before the first of a cycle, and
// marks in brackets.
func written(h *curve.Curve) string {
	var parts []string
	v := h.Shown()
	for _, p := range v.Points {
		bar := ""
		if p.First {
			bar = "|"
		}
		parts = append(parts, fmt.Sprintf("%s%d:%d", bar, p.At-at(0).Unix(), p.Tokens))
	}
	for _, m := range v.Marks {
		parts = append(parts, strings.TrimSuffix(fmt.Sprintf("[%d %s %s", m.At-at(0).Unix(), m.Kind, m.Cause), " ")+"]")
	}
	return strings.Join(parts, " ")
}

// TestHistories: who they are of, and for how long.
func TestHistories(t *testing.T) {
	t.Parallel()
	hs := agents{}
	reading := func(agent string, source transcript.Source, seconds int, tokens int64) {
		hs.event(&alerts.Event{
			Kind:   alerts.EventReading,
			Agent:  alerts.AgentID(agent),
			At:     at(seconds),
			Tokens: tokens,
			Source: source,
		}, at(seconds))
	}
	reading("script", transcript.FromStatusline, 0, 10)
	reading("script", transcript.FromStatusline, 5, 20)
	reading("a", transcript.FromTranscript, 0, 10)
	reading("a", transcript.FromStatusline, 5, 20)
	hs.event(&alerts.Event{Kind: alerts.EventTurnStart, Agent: "none", At: at(0)}, at(0))
	hs.opened(&alerts.Opened{Agent: "a", Cause: alerts.CauseHandoff, At: at(7)}, at(7))
	hs.said(&alerts.Say{Key: alerts.Key{Agent: "a", Kind: alerts.KindWarning}, At: at(8)}, 30, at(8))
	hs.said(&alerts.Say{Key: alerts.Key{Agent: "a", Kind: alerts.KindCompacted}, At: at(8)}, 30, at(8))
	hs.rename("a", "b")
	hs.rename("nobody", "b")
	all := func() map[string]string {
		got := map[string]string{}
		for agent, x := range hs {
			got[string(agent)] = written(x.curve)
		}
		return got
	}
	want := map[string]string{"script": "0:10 5:20", "b": "0:10 [7 handoff] [8 warning]"}
	if diff := cmp.Diff(want, all()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	reading("c", transcript.FromTranscript, 20, 10)
	reading("c2", transcript.FromTranscript, 20, 10)
	reading("c1", transcript.FromTranscript, 20, 10)
	hs.forgetCurves(at(6), 2)
	if diff := cmp.Diff(map[string]string{"c": "20:10", "c1": "20:10"}, all()); diff != "" { // of equal ones not all go
		t.Errorf("(-want +got):\n%s", diff)
	}
	hs.forgetCurves(at(6), 1)
	if diff := cmp.Diff(map[string]string{"c": "20:10"}, all()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
