package outbox

import (
	"regexp"
	"strings"
	"testing"

	"sm/transcript/wording"
)

func TestConfirm(t *testing.T) {
	for _, c := range []struct {
		name, text string // X, Y, Z: the ids; x, y, z: the lines; N: that of a notice
		want       string // the confirmed messages
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
		{"before a digit", " #X0", ""},
		{"before bytes", "x\xff", "X"},
		{"upper case", strings.ToUpper("x"), ""},
		{"cut off", "hi #", ""},
		{"no mark", "hi X", ""},
		{"unknown", " #000000", ""},
		{"another agent's", "z", ""},
		{"a quotation", "q", "Q"},
		{"a quotation, and the line", "q\nx", "QX"},
		{"the line, and a quotation", "x\nq", "XQ"},
		{"of an unknown message", "[sm from b] have you seen #X? #000000", ""},
		{"clipped", "l", "L"},
		{
			"clipped, with another text",
			"[sm message] " + strings.Repeat("other ", 200) + "#L",
			"",
		},
		{"nothing", "", ""},
	} {
		q := New(Defaults(), free)
		ids := map[string]string{}
		var lines []string
		add := func(name string, m Message) Message {
			m = put(t, q, m)
			ids[m.ID] = name
			lines = append(
				lines,
				name,
				m.ID,
				strings.ToLower(name),
				strings.ReplaceAll(m.Line(), "@", "(at)"),
			)
			return m
		}
		x := add("X", Message{To: "a", Text: "text of X"})
		add("Y", Message{To: "a", Text: "text of Y"})
		add("Z", Message{To: "b", Text: "text of Z"})
		add("N", Message{To: "a", Text: "text of N", Key: key(1, 0)})
		add("Q", Message{
			To:   "a",
			Text: "you wrote " + x.Line() + "\n" + x.Line() + " and [sm message] more",
		})
		add("L", Message{To: "a", Text: strings.Repeat("long @text, ", 200)})
		for range 5 {
			offer(t, q, "a", 10)
		}
		offer(t, q, "b", 10)
		var got strings.Builder
		for _, m := range q.Confirm(
			"a",
			wording.Clip([]byte(expand(c.text, lines))),
			sec(11),
		) {
			if m.State != Confirmed || m.Via != Hook || m.Ended != sec(11) {
				t.Errorf("%s: received as %+v", c.name, m)
			}
			got.WriteString(ids[m.ID])
		}
		if got.String() != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got.String(), c.want)
		}
		if n := q.Counters().Count(Hook, Confirmed); n != uint64(len(c.want)) {
			t.Errorf("%s: counted %d", c.name, n)
		}
	}
}

// expand replaces single words that name ids and lines.
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

// TestConfirmWithProgram tests that the answer to a hook names sm by its path if sm is not in
// the agent's PATH.
func TestConfirmWithProgram(t *testing.T) {
	for _, text := range []string{"run sm handoff PATH.", "run /opt/sm handoff PATH."} {
		q := New(Defaults(), free)
		m := put(t, q, Message{To: "a", Text: text})
		offer(t, q, "a", 1)
		line := strings.Replace(
			m.Line(),
			"run sm handoff",
			"run /opt/sm-1.2/bin/sm handoff",
			1,
		)
		if got := q.Confirm("a", line, sec(2)); len(got) != 1 {
			t.Errorf("%q: not received as %q", text, line)
		}
	}
}

// FuzzConfirm tests that a message counts as received where its line is, and not where only its
// id is.
func FuzzConfirm(f *testing.F) {
	f.Add("[sm message] x #@", false)
	f.Add("[sm message] x #@\n[sm message] #~", true)
	f.Add("#@0 #@ # #~~ #@\xff", true)
	f.Fuzz(func(t *testing.T, text string, both bool) {
		q := New(Defaults(), free)
		a := put(t, q, Message{To: "a", Text: "1"})
		b := put(t, q, Message{To: "a", Text: "2"})
		offer(t, q, "a", 0)
		if both {
			offer(t, q, "a", 0)
		}
		text = strings.NewReplacer("@", a.ID, "~", b.ID).Replace(text)
		heading := strings.Contains(text, wording.Heading)

		before := q.Confirm("a", text, sec(1))
		for _, m := range before {
			if !heading || !strings.Contains(text, " #"+m.ID) ||
				m.ID == b.ID && !both {
				t.Errorf("%s received by %q", m.ID, text)
			}
		}
		if after := q.Confirm(
			"a",
			text+"\n"+a.Line(),
			sec(1),
		); !heading &&
			(len(after) != 1 || after[0].ID != a.ID) {
			t.Errorf("%v: received by %q and its line", after, text)
		}
	})
}
