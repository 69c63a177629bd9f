package alerts

import (
	"testing"

	"sm/transcript"
)

// sized returns a reading of 30,000 tokens of a client that is assumed to compact at a size, in
// a window of 200,000.
func sized(at float64, agent string, compactsAt int64) Event {
	ev := reading(at, 30_000)
	ev.Agent = agent
	ev.Model = "m"
	ev.CompactsAt = compactsAt
	return ev
}

// compacts returns an automatic compaction of that client.
func compacts(at float64, agent string, key transcript.Key, pre, compactsAt int64) Event {
	ev := boundary(at, key)
	ev.Agent = agent
	ev.Model = "m"
	ev.CompactsAt = compactsAt
	ev.PreTokens = pre
	ev.Trigger = transcript.Auto
	ev.Window = 200_000
	return ev
}

func TestThresholdSources(t *testing.T) {
	const normal, small = 167_000, 67_000
	e := newEngine(t)
	expect := func(what string, agent string, tokens int64, source ThresholdSource) {
		t.Helper()
		if v := e.Agent(agent); v.Threshold != tokens || v.ThresholdSource != source {
			t.Errorf(
				"%s: %s compacts at %d (%s), want %d (%s)",
				what,
				agent,
				v.Threshold,
				v.ThresholdSource,
				tokens,
				source,
			)
		}
	}
	compact := func(agent string, n int, pre, compactsAt int64) {
		for i := range n {
			key := transcript.KeyOf([]byte(agent + string(rune('0'+i))))
			play(
				e,
				compacts(float64(1000*(i+1)), agent, key, pre+int64(i), compactsAt),
				sized(float64(1000*(i+1)+1), agent, compactsAt),
			)
		}
	}
	play(
		e,
		sized(0, "a", normal),
		sized(0, "b", normal),
		sized(0, "small", small),
		sized(0, "secret", normal),
		sized(0, "never", 0),
	)
	expect("at first", "a", normal, ThresholdAssumed)
	expect("at first", "small", small, ThresholdAssumed)
	expect("at first", "never", 0, ThresholdUnknown)

	compact("small", 3, 70_000, small)
	expect("seen", "small", 70_001, ThresholdSeen)
	expect("of another one", "a", normal, ThresholdAssumed)

	// This client has a smaller window than known. Its size counts only for itself.
	compact("secret", 2, 70_000, normal)
	expect("seen twice", "secret", normal, ThresholdAssumed)
	compact("secret", 3, 70_000, normal)
	expect("seen", "secret", 70_001, ThresholdSeen)
	expect("of another one", "a", normal, ThresholdAssumed)

	compact("a", 3, 170_000, normal)
	expect("seen", "a", 170_001, ThresholdSeen)
	expect("of one like it", "b", 170_001, ThresholdSeen)
	expect("its own", "secret", 70_001, ThresholdSeen)

	restored := newEngine(t)
	restored.Restore(e.Snapshot())
	e = restored
	expect("restored", "b", 170_001, ThresholdSeen)
	expect("restored", "secret", 70_001, ThresholdSeen)
	if !e.Rename("secret", "known") {
		t.Fatal("not renamed")
	}
	expect("renamed", "known", 70_001, ThresholdSeen)
	e.Forget("known")
	play(e, sized(9000, "known", normal))
	expect("forgotten", "known", 170_001, ThresholdSeen)
}

// TestHistoryOfOtherThresholds tests that sizes in the history of clients with other settings
// are not used for clients whose settings are unknown.
func TestHistoryOfOtherThresholds(t *testing.T) {
	e := newEngine(t)
	play(e, sized(0, "a", 167_000))
	e.Learn(ObservedCompactions{
		Clients{"", "m", 200_000, 167_000},
		[]int64{70_000, 70_000, 70_000, 0},
	})
	if v := e.Agent("a"); v.Threshold != 167_000 || v.ThresholdSource != ThresholdAssumed {
		t.Errorf("%d (%s)", v.Threshold, v.ThresholdSource)
	}
}
