package rotation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

const usual = "Read /doc.md and continue from where you left off."

// at returns a moment of the tests, in seconds.
func at(seconds float64) time.Time {
	return time.Date(
		2026,
		11,
		20,
		12,
		0,
		0,
		0,
		time.UTC,
	).Add(time.Duration(seconds * float64(time.Second)))
}

func since(t time.Time) float64 { return t.Sub(at(0)).Seconds() }

// names returns the effects without their rotations.
func names(effects []Effect) (list []string) {
	for _, e := range effects {
		switch x := e.(type) {
		case Type:
			verb := "Clear "
			if x.Prompt {
				verb = "Resume "
			}
			if x.Finish {
				verb = "Finish "
			}
			list = append(list, verb+x.Text)
		case Report:
			list = append(list, fmt.Sprintf("Report %s lost=%v", x.Rotation.Reason, x.Lost))
		default:
			list = append(list, fmt.Sprintf("%T", e)[len("rotation."):])
		}
	}
	return list
}

// done runs a rotation to its confirmation.
func done(m *Machine, id string, now time.Time) error {
	_, _, err := m.Schedule(Rotation{
		ID:      id,
		Agent:   "a",
		Path:    "/doc.md",
		Session: "s1",
	}, now)
	idle := Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "s1",
		At:      now,
	}
	for _, in := range []Input{
		idle,
		Prepared{
			ID:       id,
			Document: "HO",
			Channel:  "c",
			Read:     "/doc.md",
			At:       now,
		},
		Started{Agent: "a", Session: "s-" + id, At: now},
		idle,
		Prompted{Agent: "a", Text: usual, At: now},
	} {
		m.Step(in)
	}
	return err
}

// input applies a line of a script.
func input(m *Machine, now time.Time, line string) string {
	words := strings.Split(line, " ")
	verb := words[0]
	words = append(words[1:], "", "", "", "")
	has := func(word string) bool { return slices.Contains(words, word) }
	reason := words[slices.Index(words, "because")+1]
	if !has("because") {
		reason = ""
	}
	agent := words[0]
	var effects []Effect
	var err error
	switch verb {
	case "schedule":
		r := Rotation{
			ID:      words[0],
			Agent:   "a",
			Path:    "/doc.md",
			Session: "s1",
		}
		if words[1] != "" {
			r.Agent = words[1]
			r.Session = words[2]
		}
		if has("auto") {
			r.Path = ""
		}
		_, effects, err = m.Schedule(r, now)
	case "cancel":
		_, effects, err = m.Cancel(words[0], now)
	case "done":
		err = done(m, words[0], now)
	case "idle":
		way := slices.Index([]string{"none", "clear", "new", "restart"}, words[0])
		effects = m.Step(Idle{
			Agent:   "a",
			Way:     Way(way),
			Session: words[1],
			At:      now,
		})
	case "prepared":
		effects = m.Step(Prepared{
			ID:       words[0],
			Document: "HO",
			Channel:  "c",
			Read:     "/doc.md",
			Reason:   reason,
			At:       now,
		})
	case "typed":
		effects = m.Step(Typed{
			ID:      words[0],
			Prompt:  has("prompt"),
			Finish:  has("finish"),
			Pressed: has("pressed"),
			Reason:  reason,
			At:      now,
		})
	case "answered":
		effects = m.Step(Answered{
			ID:        words[0],
			Reason:    reason,
			Untouched: has("untouched"),
			At:        now,
		})
	case "started":
		effects = m.Step(Started{
			Agent:   "a",
			Session: words[0],
			Cleared: has("cleared"),
			At:      now,
		})
	case "read":
		text := strings.TrimSpace(strings.Join(words[2:], " "))
		text = strings.NewReplacer("USUAL", usual, " [sm ", "\n[sm ").Replace(text)
		effects = m.Step(Prompted{
			Agent:   agent,
			Session: words[1],
			Text:    text,
			At:      now,
		})
	case "recall":
		for _, in := range m.Recall(func(string) string { return words[0] }) {
			effects = append(effects, m.Step(in)...)
		}
	case "gone":
		effects = m.Step(Gone{"a", now})
	case "first":
		effects = m.Step(First{"a", words[0], has("high")})
	case "compacted":
		effects = m.Step(Compacted{"a", now})
	case "tick":
		effects = m.Tick(now)
	case "kill":
		var agents []AgentRecord
		for _, agent := range []string{"a", "b"} {
			if r := m.Agent(agent); r.Agent != "" {
				agents = append(agents, r)
			}
		}
		m.Restore(m.All(), agents, m.Counters(), now)
	case "rename":
		effects = m.Rename(agent, words[1], now)
	case "brake":
		return cmp.Or(m.Brake("a", words[0], now), "-")
	case "record":
		r := m.Agent(agent)
		if r.Agent == "" {
			return ""
		}
		return fmt.Sprintf("%s %s at %v, executed %v",
			r.Path, r.Session, since(r.At), since(r.Executed[0]))
	case "counters":
		var list []string
		counters := m.Counters()
		for _, name := range Outcomes() {
			list = append(list, fmt.Sprint(counters[name], " ", name))
		}
		return strings.Join(list, ", ")
	default:
		return "unknown input"
	}
	if err != nil {
		return err.Error()
	}
	all := m.All()
	result := all[len(all)-1].State.String()
	if len(effects) > 0 {
		result += ": " + strings.ReplaceAll(
			strings.Join(names(effects), ", "),
			usual,
			"USUAL",
		)
	}
	return result
}

func TestScripts(t *testing.T) {
	t.Parallel()
	scripts, err := txtar.ParseFile("testdata/handoffs.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts.Files {
		t.Run(script.Name, func(t *testing.T) {
			t.Parallel()
			m := New(Defaults())
			var got []string
			for line := range strings.Lines(strings.TrimSpace(string(script.Data))) {
				var seconds float64
				given, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " |")
				when, rest, _ := strings.Cut(given, " ")
				if _, err := fmt.Sscan(when, &seconds); err != nil {
					t.Fatal(err)
				}
				got = append(got, strings.TrimSpace(given+" | "+input(m, at(seconds), rest)))
			}
			if change := diff.Diff(
				strings.TrimSpace(string(script.Data)),
				strings.Join(got, "\n"),
			); change != "" {
				t.Errorf("(-want +got):\n%s", change)
			}
		})
	}
}

// TestOlderLists tests that a list of up to four received texts, as stored by older versions,
// is kept while there is room.
func TestOlderLists(t *testing.T) {
	for n := range 5 {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"Session":"s%d","Text":"Read","At":"2026-11-20T12:00:07Z"}`, i))
		}
		var r Rotation
		stored := `{"ID":"r","Agent":"a","State":4,"Prompt":"Read","Overheard":[` + strings.Join(list, ",") + `]}`
		if err := json.Unmarshal([]byte(stored), &r); err != nil {
			t.Fatal(err)
		}
		m := New(Defaults())
		m.Restore([]Rotation{r}, nil, nil, at(0))
		m.Step(Prompted{Agent: "x", Session: "new", Text: "Read", At: at(8)})
		var got []string
		for _, session := range []string{"s0", "s1", "s2", "s3", "new"} {
			for _, h := range m.Recall(func(string) string { return session }) {
				got = append(got, h.Agent+" "+h.Session)
			}
		}
		want := append([]string{"a s0", "a s1", "a s2", "a s3"}[n/4:n], "a new")
		if d := diff.Diff(want, got); d != "" {
			t.Errorf("%d texts (-want +got):\n%s", n, d)
		}
	}
}

// TestManyRotations tests that a day of handoffs in a large fleet does not slow down requests
// for each agent.
func TestManyRotations(t *testing.T) {
	t.Parallel()
	const agents = 5000
	ended := make([]Rotation, 0, 5*agents)
	for i := range cap(ended) {
		ended = append(ended, Rotation{
			ID:      fmt.Sprint(i),
			Agent:   fmt.Sprint(i % agents),
			State:   Confirmed,
			Changed: at(0),
		})
	}
	m := New(Options{})
	m.Restore(ended, nil, nil, at(0))
	began := time.Now()
	for i := range agents {
		if r := m.Open(fmt.Sprint(i)); r.ID != "" {
			t.Fatalf("agent %d has an open rotation: %+v", i, r)
		}
	}
	if took := time.Since(began); took > time.Second/2 {
		t.Errorf("asking for the rotations of %d agents took %v", agents, took)
	}
}
