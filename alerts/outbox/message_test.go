package outbox

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
)

func TestLine(t *testing.T) {
	key := alerts.Key{Agent: "a", Cycle: 1}
	for _, c := range []struct {
		name, want string
		m          Message
	}{
		{"send", "[sm from web] Done. #a1b2c3", Message{From: "web", Text: "Done.", Offers: 1}},
		{"not offered yet", "[sm from web] Done. #a1b2c3", Message{From: "web", Text: "Done."}},
		{"repeated", "[sm from web, repeated] Done. #a1b2c3", Message{From: "web", Text: "Done.", Offers: 2}},
		{"nobody's", "[sm message] Done. #a1b2c3", Message{Text: "Done.", Offers: 1}},
		{"nobody's, repeated", "[sm message, repeated] Done. #a1b2c3", Message{Text: "Done.", Offers: 3}},
		{"a name of space", "[sm message] Done. #a1b2c3", Message{From: " \t", Text: "Done."}},
		{"own heading", "[sm reminder] Look. #a1b2c3", Message{From: "web", Text: "[sm reminder] Look.", Offers: 1}},
		{"own heading, repeated", "[sm reminder] Look. - repeated #a1b2c3", Message{
			Text:   "[sm reminder] Look.",
			Offers: 2,
		}},
		{"another's heading", "[sm message] [smart] Look. #a1b2c3", Message{Text: "[smart] Look."}},
		{"a shell's mark", "[sm message] !rm #a1b2c3", Message{Text: "!rm"}},
		{"lines", "[sm message] a\nb #a1b2c3", Message{Text: "a\nb"}},
		{"notice", "[sm context] Context at 52%. #a1b2c3", Message{
			Key:    key,
			Text:   "[sm context] Context at 52%.",
			Offers: 1,
		}},
		{"notice again", "[sm context] Context at 52%. #a1b2c3", Message{
			Key:    key,
			Text:   "[sm context] Context at 52%.",
			Offers: 2,
		}},
		{"a notice's own text", "[sm context] !52% #a1b2c3", Message{Key: key, Text: "!52%", Offers: 2}},
		{"a name like a heading", "[sm from a) (sm context #000000] x #a1b2c3", Message{
			From: "a] [sm context\n#000000\u202e",
			Text: "x",
		}},
		{"a long name", "[sm from " + strings.Repeat("é", 64) + "] x #a1b2c3", Message{
			From: strings.Repeat("é", 70),
			Text: "x",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.m.ID = "a1b2c3"
			if diff := cmp.Diff(c.want, c.m.Line()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWords(t *testing.T) {
	var words []string
	for _, c := range Carriers() {
		words = append(words, c.String())
	}
	for s := range states + 1 {
		words = append(words, s.String())
	}
	for _, s := range Outcomes() {
		words = append(words, s.String())
		if !s.Ended() {
			t.Errorf("%s has not ended", s)
		}
	}
	words = append(words, carriers.String())
	want := "none hook tmux restart queue waiting offered confirmed unconfirmed expired withdrawn refused unknown " +
		"confirmed unconfirmed expired withdrawn refused unknown"
	if diff := cmp.Diff(want, strings.Join(words, " ")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMessageJSON pins how messages are stored: what was stored before must be read.
func TestMessageJSON(t *testing.T) {
	for _, c := range []struct {
		m    Message
		want string
	}{
		{Message{
			ID:   "a1b2c3",
			Seq:  7,
			To:   "a",
			Text: "<\u2028>",
			Made: sec(0),
		}, `{"ID":"a1b2c3","Seq":7,"To":"a","Text":"\u003c\u2028\u003e","Made":"2026-08-01T12:00:00Z"}`},
		{
			Message{
				ID:  "a1b2c3",
				Seq: 7,
				Key: alerts.Key{
					Agent: "b",
					Cycle: 3,
					Kind:  alerts.KindStorm,
					Ref:   "operator",
				},
				Ref:     "r",
				To:      "a",
				From:    "web",
				Mode:    alerts.Urgent,
				Text:    "x",
				Made:    sec(0.000000001),
				State:   Confirmed,
				Offers:  2,
				First:   sec(1),
				Offered: sec(2),
				Via:     Tmux,
				Ended:   sec(3),
			},
			`{"ID":"a1b2c3","Seq":7,"Key":{"Agent":"b","Cycle":3,"Kind":3,"Ref":"operator"},"Ref":"r","To":"a","From":"web","Mode":2,"Text":"x",` +
				`"Made":"2026-08-01T12:00:00.000000001Z","State":2,"Offers":2,"First":"2026-08-01T12:00:01Z","Offered":"2026-08-01T12:00:02Z","Via":2,` +
				`"Ended":"2026-08-01T12:00:03Z"}`,
		},
	} {
		b, err := json.Marshal(c.m)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, string(b)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		var back Message
		if err := json.Unmarshal(b, &back); err != nil || back != c.m {
			t.Errorf("%v, (-want +got):\n%s", err, cmp.Diff(c.m, back))
		}
	}
}
