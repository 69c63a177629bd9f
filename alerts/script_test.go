package alerts

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"sm/transcript"
)

var update = flag.Bool("update", false, "write the results of the scripts anew")

// scripted makes an event of a line "SECONDS VERB [NUMBER]… [WORD]… [JSON]".
func scripted(t *testing.T, line string) Event {
	t.Helper()
	line, tail, _ := strings.Cut(line, " {")
	var s float64
	var verb string
	var n, more int64
	fmt.Sscan(line, &s, &verb, &n, &more)
	key := transcript.Key(n)

	ev := Event{Agent: "a", At: sec(s)}
	switch verb {
	case "seen":
		ev.Kind = EventSeen
	case "reading":
		ev = reading(s, n)
	case "sample":
		ev = sample(s, n)
	case "begin":
		ev = preCompact(s)
	case "boundary":
		ev = boundary(s, key)
	case "session-start":
		ev = hookSign(s, SignSessionStart)
	case "post-compact":
		ev = hookSign(s, SignPostCompact)
	case "complete":
		ev = hookSign(s, SignComplete)
	case "clear":
		ev = reset(s, CauseClear, key)
	case "session":
		ev = reset(s, CauseSession, key)
	case "handoff":
		ev = reset(s, CauseHandoff, transcript.Key(more))
		ev.Handoff = key
	case "rewind":
		ev = rewind(s, n, float64(more))
	case "prompt":
		ev.Kind = EventTurnStart
	case "rest":
		ev.Kind = EventTurnEnd
	case "active":
		ev.Kind = EventActive
		ev.On = n > 0
	case "alert", "read":
		ev.Kind = EventAlert
		if verb == "read" {
			ev.Kind = EventRead
			ev.Cycle = int(n)
		}
		for k := range Kinds + 1 {
			if strings.HasSuffix(line, " "+k.String()) {
				ev.Notice = k
			}
		}
	case "tick":
		ev.Kind = 0
		ev.Agent = ""
	default:
		t.Fatalf("no such event: %s", line)
	}

	for _, word := range strings.Fields(line)[2:] {
		switch word {
		case "manual":
			ev.Trigger = transcript.Manual
		case "idle":
			ev.Trigger = transcript.Idle
		case "back":
			ev.Back = true
		case "bare":
			ev.At = time.Time{}
		}
	}
	if tail != "" {
		if err := json.Unmarshal([]byte("{"+tail), &ev); err != nil {
			t.Fatalf("%s: %v", tail, err)
		}
	}
	return ev
}

// shown returns what an engine shows of the agent "a".
func shown(t *testing.T, e *Engine) string {
	sources := [...]string{"transcript", "statusline", "estimate"}
	v := view(t, e)
	s := fmt.Sprintf("cycle %d, %s", v.Cycle, v.Level)
	add := func(on bool, format string, args ...any) {
		if on {
			s += fmt.Sprintf(", "+format, args...)
		}
	}
	add(v.Known, "%d of %s at %.0f", v.Tokens, sources[v.Source], v.At.Time().Sub(epoch).Seconds())
	add(v.Threshold > 0, "%s threshold %d", v.ThresholdSource, v.Threshold)
	add(!v.Enabled, "disabled")
	add(v.Compacting, "%s compaction since %.0f", v.Trigger, v.Since.Sub(epoch).Seconds())
	add(v.Storming, "storming")
	add(v.Turns > 0, "%d turns", v.Turns)
	add(v.InTurn, "in a turn")
	add(e.counters.Attempts != [4]uint64{}, "attempts %v", e.counters.Attempts)
	add(
		e.counters.Reminders[ReminderLate] > 0,
		"%d late reminders",
		e.counters.Reminders[ReminderLate],
	)
	add(v.Forecast.Turns.Known, "turns known")
	return s
}

func scriptLine(t *testing.T, e *Engine, line string) string {
	_, operation, _ := strings.Cut(line, " ")
	verb, args, _ := strings.Cut(operation, " ")
	switch verb {
	case "options":
		o := Defaults()
		if err := json.Unmarshal([]byte(args), &o); err != nil {
			t.Fatal(err)
		}
		if err := e.Configure(o); err != nil {
			t.Fatal(err)
		}
		return "done"
	case "next":
		var s float64
		fmt.Sscan(line, &s)
		_, next := e.Tick(sec(s))
		if next.IsZero() {
			return "never"
		}
		return fmt.Sprintf("at %.0f", next.Sub(epoch).Seconds())
	case "remind": // NAME DUE, or NAME SOFT HARD
		var name string
		var first, hard float64
		n, _ := fmt.Sscan(args, &name, &first, &hard)
		r := Reminder{ID: name, Agent: "a", Made: at(0)}
		if n == 2 {
			r.Due = at(first)
		} else {
			r.Soft = seconds(first)
			r.Hard = seconds(hard)
		}
		mustRemind(t, e, r)
		return "done"
	case "reach": // the only agents that can be reached
		ids := strings.Fields(args)
		e.Reaches = func(agent string) bool { return slices.Contains(ids, agent) || agent == "" && len(ids) > 0 }
		if sent := lines(e.SendUnsent("a")); sent != nil {
			return strings.Join(sent, ", ")
		}
		return "-"
	case "dismiss":
		e.Dismiss(sec(1e6), func(string) bool { return true })
		return "done"
	case "view":
		return shown(t, e)
	}
	actions := once(e, scripted(t, line))
	got := append(lines(actions), reminded(actions)...)
	if got == nil {
		return "-"
	}
	return strings.Join(got, ", ")
}

// restarted returns an engine restored from stored state.
func restarted(t *testing.T, e *Engine) *Engine {
	t.Helper()
	b, err := json.Marshal(e.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	var s State
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	again := newEngine(t, func(o *Options) { *o = e.options })
	again.Reaches = e.Reaches
	again.Restore(s)
	return again
}

// TestScripts plays the scripts in testdata with one engine, and with one that
// restarts before each event.
func TestScripts(t *testing.T) {
	const file = "testdata/rules.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range archive.Files {
		f := &archive.Files[i]
		t.Run(f.Name, func(t *testing.T) {
			e := newEngine(t)
			again := newEngine(t)
			var got strings.Builder
			for line := range strings.Lines(string(f.Data)) {
				line, _, _ = strings.Cut(strings.TrimSpace(line), " | ")
				if line != "" {
					result := scriptLine(t, e, line)
					again = restarted(t, again)
					if restored := scriptLine(t, again, line); restored != result {
						t.Errorf("%s: %s after a restart, not %s", line, restored, result)
					}
					line += " | " + result
				}
				got.WriteString(line + "\n")
			}
			if *update {
				f.Data = []byte(got.String())
			} else if diff := cmp.Diff(string(f.Data), got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
