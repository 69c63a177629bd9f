package outbox

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLine(t *testing.T) {
	key := key(1, 0)
	for _, c := range []struct {
		name, want string
		m          Message
	}{
		{"send", "[sm from web] Done. #a1b2c3", Message{
			From:   "web",
			Text:   "Done.",
			Offers: 1,
		}},
		{"not offered yet", "[sm from web] Done. #a1b2c3", Message{
			From: "web",
			Text: "Done.",
		}},
		{"repeated", "[sm from web, repeated] Done. #a1b2c3", Message{
			From:   "web",
			Text:   "Done.",
			Offers: 2,
		}},
		{"without a sender", "[sm message] Done. #a1b2c3", Message{Text: "Done.", Offers: 1}},
		{"without a sender, repeated", "[sm message, repeated] Done. #a1b2c3", Message{
			Text:   "Done.",
			Offers: 3,
		}},
		{"a name of space", "[sm message] Done. #a1b2c3", Message{
			From: " \t",
			Text: "Done.",
		}},
		{"own heading", "[sm reminder] Look. #a1b2c3", Message{
			From:   "web",
			Text:   "[sm reminder] Look.",
			Offers: 1,
		}},
		{"own heading, repeated", "[sm reminder] Look. - repeated #a1b2c3", Message{
			Text:   "[sm reminder] Look.",
			Offers: 2,
		}},
		{"another's heading", "[sm message] [smart] Look. #a1b2c3", Message{
			Text: "[smart] Look.",
		}},
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
		{"a notice's own text", "[sm context] !52% #a1b2c3", Message{
			Key:    key,
			Text:   "!52%",
			Offers: 2,
		}},
		{"a name like a heading", "[sm from a) (sm context #000000] x #a1b2c3", Message{
			From: "a] [sm context\n#000000\u202e",
			Text: "x",
		}},
		{"a long name", "[sm from " + strings.Repeat("é", 64) + "] x #a1b2c3", Message{
			From: strings.Repeat("é", 70),
			Text: "x",
		}},
	} {
		c.m.ID = "a1b2c3"
		if diff := cmp.Diff(c.want, c.m.Line()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
