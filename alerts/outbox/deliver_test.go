package outbox

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/transcript/wording"
)

func TestOfferOrder(t *testing.T) {
	q := New(Options{TTL: time.Hour})
	put(t, q, Message{To: "a", Text: "old", Mode: alerts.Urgent}, -3600)
	for i, m := range []alerts.Mode{
		alerts.Sequential,
		alerts.Important,
		alerts.Urgent,
		alerts.Sequential,
		alerts.Urgent,
		alerts.Important,
	} {
		put(t, q, Message{To: "a", Text: fmt.Sprintf("%d %s", i, m), Mode: m}, float64(-i))
	}
	put(t, q, Message{To: "b", Text: "b's", Mode: alerts.Urgent}, 0)
	var got []string
	for _, least := range []alerts.Mode{
		alerts.Urgent,
		alerts.Important,
		alerts.Urgent,
		alerts.Important,
		alerts.Important,
		alerts.Sequential,
		alerts.Sequential,
		alerts.Sequential,
	} {
		m, ok := q.Offer("a", Hook, least, sec(0))
		if ok && (m.State != Offered || m.Via != Hook || m.Offers != 1 || m.First != sec(0) || m.Offered != sec(0)) {
			t.Errorf("offered as %+v", m)
		}
		got = append(got, m.Text)
	}
	want := []string{"2 urgent", "4 urgent", "", "1 important", "5 important", "0 sequential", "3 sequential", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := q.Counters().Count(None, Expired); got != 1 {
		t.Errorf("%d have expired", got)
	}
}

// What may stand at a prompt, since it was typed before, goes ahead there: it keeps out all
// others. Of several each gets its turn, though none is typed.
func TestOfferOrderAtAPrompt(t *testing.T) {
	q := New(Options{TTL: time.Hour, Proof: time.Second})
	typed := []ID{put(t, q, Message{To: "a", Text: "1"}, 0).ID, put(t, q, Message{To: "a", Text: "2"}, 0).ID}
	for i := range typed {
		if m, ok := q.Offer("a", Tmux, alerts.Sequential, sec(float64(i))); !ok || m.ID != typed[i] {
			t.Fatalf("offered %+v", m)
		}
	}
	q.Check(sec(10), readUpTo(10))
	urgent := put(t, q, Message{To: "a", Text: "3", Mode: alerts.Urgent}, 10).ID
	for i := range 4 {
		m, _ := q.Offer("a", Tmux, alerts.Sequential, sec(float64(20+i)))
		if m.ID != typed[i%2] {
			t.Errorf("try %d: offered %q", i, m.Text)
		}
		q.Unoffer(m.ID, sec(float64(20+i)))
	}
	if m, _ := q.Offer("a", Hook, alerts.Sequential, sec(30)); m.ID != urgent {
		t.Errorf("a hook is offered %q", m.Text)
	}
}

func TestHold(t *testing.T) {
	q := New(Defaults())
	put(t, q, Message{To: "a", Text: "x"}, 0)
	b := put(t, q, Message{To: "b", Text: "x"}, 0)
	q.Hold("a", true)
	for _, by := range []Carrier{Hook, Tmux} {
		if _, ok := q.Offer("a", by, alerts.Sequential, sec(0)); ok {
			t.Errorf("%s is offered what is on hold", by)
		}
	}
	if !q.HasWaiting("a") {
		t.Error("nothing waits")
	}
	if m := offer(t, q, "b", Hook, 0); m.ID != b.ID {
		t.Error("b has another's message")
	}
	m := offer(t, q, "a", Restart, 1)
	q.Unoffer(m.ID, sec(1))
	q.Hold("a", false)
	offer(t, q, "a", Tmux, 2)
}

func TestUnoffer(t *testing.T) {
	q := New(Options{TTL: time.Hour})
	m := put(t, q, Message{To: "a", Text: "x"}, 0)
	q.Unoffer(m.ID, sec(0)) // not offered yet
	offer(t, q, "a", Hook, 1)
	q.Unoffer(m.ID, sec(1))
	if got, _ := q.Find(m.ID); got != m {
		t.Errorf("(-before +after):\n%s", cmp.Diff(m, got))
	}
	if got := q.Heard("a", m.Line(), sec(2)); got != nil {
		t.Error("what was never offered is heard")
	}
	offer(t, q, "a", Hook, 10)
	q.Check(sec(40), noTranscript)
	offer(t, q, "a", Tmux, 50)
	q.Unoffer(m.ID, sec(51))
	got, _ := q.Find(m.ID)
	if got.State != Waiting || got.Offers != 1 || got.First != sec(10) || strings.Contains(got.Line(), "repeated") {
		t.Errorf("%+v", got)
	}
	if got := offer(t, q, "a", Tmux, 60); !strings.Contains(got.Line(), "repeated") {
		t.Errorf("not marked as repeated: %s", got.Line())
	}
	q.Unoffer(m.ID, sec(3600))
	q.Unoffer(m.ID, sec(3600))
	q.Unoffer("000000", sec(3600))
	if got := state(q, m.ID); got != "expired tmux 1" {
		t.Errorf("too old to wait again, but %s", got)
	}
}

func TestHeard(t *testing.T) {
	for _, c := range []struct {
		name, text string // X, Y, Z: the ids; x, y, z: the lines; N: that of a notice
		want       string // what is confirmed
	}{
		{"line", "x", "X"},
		{"two lines", "x\ny", "XY"},
		{"in one line", "y x", "YX"},
		{"notice among them", "n\nx", "NX"},
		{"twice", "x\nx", "X"},
		{"decorated", "<context>x</context>", "X"},
		{"without heading", "text of X #X", ""},
		{"without text", "[sm message] #X", ""},
		{"with another text", "[sm message] hi #X", ""},
		{"before a dot", "x.", "X"},
		{"after a letter", "a#X", ""},
		{"after another mark", "##X", ""},
		{"after a bracket", "(#X)", ""},
		{"before a digit", " #X0", ""},
		{"before a letter", " #Xg", ""},
		{"before another script's letter", " #Xж", ""},
		{"before another script's digit", " #X٣", ""},
		{"before bytes", "x\xff", "X"},
		{"upper case", strings.ToUpper("x"), ""},
		{"cut off", "hi #", ""},
		{"no mark", "hi X", ""},
		{"unknown", " #000000", ""},
		{"another agent's", "z", ""},
		{"a quotation", "q", "Q"},
		{"a quotation, and the line", "q\nx", "QX"},
		{"the line, and a quotation", "x\nq", "XQ"},
		{"of a message unknown", "[sm from b] have you seen #X? #000000", ""},
		{"clipped", "l", "L"},
		{"clipped, with another text", "[sm message] " + strings.Repeat("other ", 200) + "#L", ""},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := New(Defaults())
			ids := map[ID]string{}
			var lines []string
			add := func(name string, m Message) Message {
				m = put(t, q, m, 0)
				ids[m.ID] = name
				lines = append(
					lines,
					name,
					string(m.ID),
					strings.ToLower(name),
					strings.ReplaceAll(m.Line(), "@", "(at)"),
				)
				return m
			}
			x := add("X", Message{To: "a", Text: "text of X"})
			add("Y", Message{To: "a", Text: "text of Y"})
			add("Z", Message{To: "b", Text: "text of Z"})
			add("N", Message{To: "a", Text: "text of N", Key: key(1, 0)})
			add("Q", Message{To: "a", Text: "you wrote " + x.Line() + "\n" + x.Line() + " and [sm message] more"})
			add("L", Message{To: "a", Text: strings.Repeat("long @text, ", 200)})
			for range 5 {
				offer(t, q, "a", Hook, 10)
			}
			offer(t, q, "b", Hook, 10)
			var got strings.Builder
			for _, m := range q.Heard("a", wording.Clip([]byte(expand(c.text, lines))), sec(11)) {
				if m.State != Confirmed || m.Via != Hook || m.Ended != sec(11) {
					t.Errorf("heard as %+v", m)
				}
				got.WriteString(ids[m.ID])
			}
			if got.String() != c.want {
				t.Errorf("got %q, want %q", got.String(), c.want)
			}
			if n := q.Counters().Count(Hook, Confirmed); n != uint64(len(c.want)) {
				t.Errorf("counted %d", n)
			}
		})
	}
}

// expand puts ids and lines in the place of their names, where those stand alone.
func expand(text string, lines []string) string {
	values := map[string]string{}
	for i := 0; i < len(lines); i += 2 {
		values[lines[i]] = lines[i+1]
	}
	return regexp.MustCompile(`\b[XYZNQL]|\b[xyznql]\b`).ReplaceAllStringFunc(
		text,
		func(s string) string { return values[s] },
	)
}

func TestHeardWhen(t *testing.T) {
	q := New(Defaults())
	m := put(t, q, Message{To: "a", Text: "x"}, 0)
	heard := func(at time.Time) bool { return len(q.Heard("a", m.Line(), at)) > 0 }
	if heard(sec(1)) {
		t.Error("heard before it was offered")
	}
	offer(t, q, "a", Hook, 100)
	if heard(sec(94.9)) || heard(time.Time{}) {
		t.Error("a quotation from before the offer is a proof")
	}
	q.Check(sec(131), readUpTo(131))
	if got := state(q, m.ID); got != "waiting hook 1" {
		t.Fatalf("it is %s", got)
	}
	offer(t, q, "a", Tmux, 200)
	if !heard(sec(95)) { // told late; it counts from the first offer on
		t.Error("not heard within 5 s of the first offer")
	}
	if heard(sec(201)) {
		t.Error("heard twice")
	}
	if got := state(q, m.ID); got != "confirmed tmux 2" {
		t.Errorf("it is %s", got)
	}
}

// TestHeardWithProgram: the answer to a hook names sm by its path where the agent does
// not find it.
func TestHeardWithProgram(t *testing.T) {
	for _, text := range []string{"run sm handoff PATH.", "run /opt/sm handoff PATH."} {
		q := New(Defaults())
		m := put(t, q, Message{To: "a", Text: text}, 0)
		offer(t, q, "a", Hook, 1)
		line := strings.Replace(m.Line(), "run sm handoff", "run /opt/sm-1.2/bin/sm handoff", 1)
		if got := q.Heard("a", line, sec(2)); len(got) != 1 {
			t.Errorf("%q: not heard as %q", text, line)
		}
	}
}

// FuzzHeard: a message is heard where its line is, and not where its id alone is.
func FuzzHeard(f *testing.F) {
	f.Add("[sm message] x #@", false)
	f.Add("[sm message] x #@\n[sm message] #~", true)
	f.Add("#@0 #@ # #~~ #@\xff", true)
	f.Fuzz(func(t *testing.T, text string, both bool) {
		q := New(Options{})
		a := put(t, q, Message{To: "a", Text: "1"}, 0)
		b := put(t, q, Message{To: "a", Text: "2"}, 0)
		offer(t, q, "a", Hook, 0)
		if both {
			offer(t, q, "a", Hook, 0)
		}
		text = strings.NewReplacer("@", string(a.ID), "~", string(b.ID)).Replace(text)
		heading := strings.Contains(text, wording.Heading)

		before := q.Heard("a", text, sec(1))
		for _, m := range before {
			if !heading || !strings.Contains(text, " #"+string(m.ID)) || m.ID == b.ID && !both {
				t.Errorf("%s is heard in %q", m.ID, text)
			}
		}
		if after := q.Heard("a", text+"\n"+a.Line(), sec(1)); !heading && (len(after) != 1 || after[0].ID != a.ID) {
			t.Errorf("%v is heard in %q and its line", after, text)
		}
	})
}
