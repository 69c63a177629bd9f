package outbox

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"sm/alerts"
)

var update = flag.Bool("update", false, "write the results of the scripts anew")

// scripted is a queue under a script, where messages have names.
type scripted struct {
	q     *Queue
	ids   map[string]string
	names map[string]string
	held  map[string]bool
	read  float64 // time up to which the transcript was read, below 0 for none
}

func (s *scripted) name(m Message) string {
	if m.ID == "" {
		return "-"
	}
	return s.names[m.ID]
}

func (s *scripted) list(all []Message) string {
	result := "-"
	for _, m := range all {
		result = strings.TrimPrefix(result+" "+s.names[m.ID], "- ")
	}
	return result
}

// keyed returns the key "AGENT/CYCLE/KIND".
func keyed(text string) (k alerts.Key) {
	f := strings.Split(text, "/")
	k.Agent = f[0]
	fmt.Sscan(f[1], &k.Cycle)
	fmt.Sscan(f[2], (*uint8)(&k.Kind))
	return k
}

// put puts a message "NAME FIELD=VALUE… : TEXT".
func (s *scripted) put(now time.Time, line string) string {
	head, text, _ := strings.Cut(line, " : ")
	fields := strings.Fields(head)
	m := Message{To: "a", Text: s.expand(text)}
	for _, field := range fields[1:] {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "to":
			m.To = value
		case "from":
			m.From = value
		case "ref":
			m.Ref = value
		case "key":
			m.Key = keyed(value)
		case "mode":
			fmt.Sscan(value, (*uint8)(&m.Mode))
		case "unmetered":
			m.Unmetered = true
		}
	}
	got, err := s.q.Put(m, now)
	if err != nil {
		return err.Error()
	}
	if s.names[got.ID] == "" {
		s.names[got.ID] = fields[0]
		s.ids[fields[0]] = got.ID
	}
	return "is " + s.names[got.ID]
}

// expand replaces {NAME} by the line of a message, and {NAME.id} and {NAME.call}.
func (s *scripted) expand(text string) string {
	for name, id := range s.ids {
		m := s.q.Find(id)
		text = strings.NewReplacer(
			"{"+name+"}", m.Line(), "{"+name+".id}", id, "{"+name+".call}", m.Call(), `\n`, "\n",
		).Replace(text)
	}
	return text
}

// do applies a line of a script.
func (s *scripted) do(seconds float64, line string) string {
	q := s.q
	now := sec(seconds)
	verb, rest, _ := strings.Cut(line, " ")
	f := append(strings.Fields(rest), "", "", "")
	to := f[0]
	id := s.ids[f[0]]
	switch verb {
	case "put":
		return s.put(now, rest)
	case "unput":
		q.Unput(id)
	case "offer":
		by := map[string]Carrier{
			"hook":    Hook,
			"tmux":    Tmux,
			"restart": Restart,
			"queue":   Queued,
		}[f[1]]
		var least alerts.Mode
		fmt.Sscan(f[2], (*uint8)(&least))
		return s.name(q.Offer(to, by, now, func(m *Message) bool { return m.Mode >= least }))
	case "call":
		return s.name(q.Call(to, now))
	case "typed":
		return s.name(q.Offer(
			to,
			Tmux,
			now,
			func(m *Message) bool { return m.Typeable(f[1] == "texts") },
		))
	case "enqueue":
		return s.name(q.Enqueue(to, f[1], now))
	case "answer":
		return s.name(q.Answer(to, s.ids[f[1]], now))
	case "placed":
		q.Placed(id)
	case "leave":
		q.Leave(func(string) string { return f[0] })
		return "done"
	case "unoffer":
		q.Unoffer(id)
	case "hold":
		s.held[to] = f[1] == "on"
		return "done"
	case "rename":
		q.Rename(to, f[1])
		return "done"
	case "forget":
		q.Forget(to, now)
		return "done"
	case "withdraw":
		var taken []Message
		q.Withdraw(func(m *Message) bool {
			if m.Key != keyed(f[0]) {
				return false
			}
			taken = append(taken, *m)
			return true
		}, now)
		return s.list(taken)
	case "cancel":
		_, err := q.Cancel(to, s.ids[f[1]], now)
		return fmt.Sprint(err)
	case "received":
		_, text, _ := strings.Cut(rest, " ")
		return s.list(q.Confirm(to, s.expand(text), now))
	case "read":
		s.read = -1
		fmt.Sscan(f[0], &s.read)
		return "done"
	case "check":
		next := q.Check(
			now,
			func(string, time.Time) (time.Time, bool) { return sec(s.read), s.read >= 0 },
		)
		if next.IsZero() {
			return "never"
		}
		return fmt.Sprint("next ", next.Sub(sec(0)).Seconds())
	case "all":
		return s.list(q.Of(to))
	case "take":
		var changed []Message
		gone := 0
		ok := q.Take(func(_ string, m *Message) {
			if m == nil {
				gone++
			} else {
				changed = append(changed, *m)
			}
		})
		slices.SortFunc(changed, bySeq)
		return fmt.Sprintf("%s, gone %d, %t", s.list(changed), gone, ok)
	case "line":
		m := q.Find(id)
		return strings.ReplaceAll(m.Line()+" marked "+m.Mark(), id, "ID")
	}
	m := q.Find(id)
	if m.ID == "" {
		return "gone"
	}
	return fmt.Sprint(m.State, " ", m.Via, " ", m.Offers)
}

// TestScripts compares the result of each line. "options" begins some scripts: TTL and Proof
// in seconds, Offers, PerAgent, PerSenderMinute, MessageBytes.
func TestScripts(t *testing.T) {
	t.Parallel()
	const path = "testdata/queue.txtar"
	scripts, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, script := range scripts.Files {
		o := Defaults()
		s := &scripted{
			ids:   map[string]string{},
			names: map[string]string{},
			held:  map[string]bool{},
			read:  -1,
		}
		var got strings.Builder
		for line := range strings.Lines(strings.TrimSpace(string(script.Data))) {
			given, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " | ")
			when, rest, _ := strings.Cut(given, " ")
			if when == "options" {
				o.Proof = 0
				fmt.Sscan(
					rest,
					&o.TTL,
					&o.Proof,
					&o.Offers,
					&o.PerAgent,
					&o.PerSenderMinute,
					&o.MessageBytes,
				)
				o.TTL *= time.Second
				o.Proof *= time.Second
				fmt.Fprintln(&got, given)
				continue
			}
			if s.q == nil {
				s.q = New(o, func(to string) bool { return s.held[to] })
			}
			var seconds float64
			if _, err := fmt.Sscan(when, &seconds); err != nil {
				t.Fatalf("%s: %q: %v", script.Name, line, err)
			}
			fmt.Fprintf(&got, "%s | %s\n", given, s.do(seconds, rest))
		}
		want := strings.TrimSpace(string(script.Data)) + "\n"
		if diff := cmp.Diff(want, got.String()); diff != "" && !*update {
			t.Errorf("%s (-want +got):\n%s", script.Name, diff)
		}
		scripts.Files[i].Data = []byte(got.String() + "\n")
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(scripts), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
