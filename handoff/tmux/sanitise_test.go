package tmux

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestSanitise(t *testing.T) {
	t.Parallel()
	const resume = "Read /home/dev/notes (2).md and continue from where you left off."
	for _, c := range []struct {
		name, text, want string
	}{
		{"nothing left", " \x00\u200b\n\\", ""},
		{
			"as it is",
			"[sm context] Context at 52% (104,000 tokens). #a1b2c3",
			"[sm context] Context at 52% (104,000 tokens). #a1b2c3",
		},
		{"no heading", "hello", "[sm message] hello"},
		{"shell", "!rm -rf build", "[sm message] !rm -rf build"},
		{"command", "/compact", "[sm message] /compact"},
		{"ours", "/clear", "/clear"},
		{"a resume prompt", resume, resume},
		{"almost a resume prompt", "/clear now", "[sm message] /clear now"},
		{
			"another resume prompt",
			"Read this and continue from where you left off.",
			"[sm message] Read this and continue from where you left off.",
		},
		{
			"line breaks",
			"[sm x] a\r\nb\rc\nd\u2028e\u2029f\vg\fh\u0085i",
			"[sm x] a b c d e f g h i",
		},
		{"end of the paste", "[sm x] a\x1b[201~\r/exit\r", "[sm x] a[201~ /exit"},
		{"the same in C1", "[sm x] a\u009b201~b\u0090c", "[sm x] a201~bc"},
		{"C0 and DEL", "[sm x] a\x03\x04\x1a\x00\x7f\bb", "[sm x] ab"},
		{"bidi", "[sm x] a\u202e\u061c\u200e\u200f\u2066b\u2069", "[sm x] ab"},
		{
			"zero width",
			"[sm x] a\u200b\u200c\u200d\u2060\ufeff\u00adb\u034f\u115f\u3164",
			"[sm x] ab",
		},
		{
			"private, unassigned, none at all",
			"[sm x] a\ue000\U0010ffff\ufffe\u0378b",
			"[sm x] ab",
		},
		{
			"not UTF-8",
			"[sm x] a\xff\xc3b\xed\xa0\x80",
			"[sm x] a\ufffd\ufffdb\ufffd\ufffd\ufffd",
		},
		{"variation selectors", "[sm x] ☂\ufe0f\ufe0f b \ufe0f\u180b", "[sm x] ☂ b"},
		{"accents and scripts", "[sm x] nai\u0308ve 文字 🙂", "[sm x] nai\u0308ve 文字 🙂"},
		{
			"mentions",
			"@a [sm x] @b c@d (@e) @",
			"[sm message] (at)a [sm x] (at)b c@d ((at)e) (at)",
		},
		{"escaped Enter", `[sm x] a \\ \`, "[sm x] a"},
		{
			"separators of tmux",
			"[sm x] a; #(touch x) #{pane_id} ${HOME} %1 -t",
			"[sm x] a; #(touch x) #{pane_id} ${HOME} %1 -t",
		},
	} {
		got := Sanitise(c.text)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if err := Check(got); (err == nil) != (got != "") {
			t.Errorf("%s: Check = %v", c.name, err)
		}
		if err := Check(c.text); c.text != c.want && !errors.Is(err, ErrText) {
			t.Errorf("%s: Check of what was given = %v, want ErrText", c.name, err)
		}
	}
}

func TestSanitiseLength(t *testing.T) {
	t.Parallel()
	long := func(letter string, bytes int) string {
		return "[sm x] " + strings.Repeat(letter, (bytes-len("[sm x] "))/len(letter))
	}
	for _, c := range []struct{ text, want string }{
		{long("a", MaxBytes), long("a", MaxBytes)},
		{long("a", MaxBytes+1), long("a", MaxBytes-3) + "…"},
		{long("a", 9000) + " #a1b2c3", long("a", MaxBytes-11) + "… #a1b2c3"},
		{long("🙂", 9000) + " #a1b2c3", long("🙂", MaxBytes-11) + "… #a1b2c3"},
		// A path cannot be shortened.
		{"Read /" + strings.Repeat("a", MaxBytes) + " and continue from where you left off.", ""},
	} {
		if diff := cmp.Diff(c.want, Sanitise(c.text)); diff != "" {
			t.Errorf("%d bytes (-want +got):\n%s", len(c.text), diff)
		}
	}
}

func FuzzSanitise(f *testing.F) {
	for _, text := range []string{
		"", "hello", "/clear", "[sm x] a #a1b2c3", "!ls", "\x1b[201~\r", "a\u202eb", "\xff", "@a @b", `\`,
		"Read /a and continue from where you left off.", strings.Repeat(
			"é",
			5000,
		) + " #ffffff",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Sanitise(text)
		if got == "" {
			return
		}
		if len(got) > MaxBytes || !utf8.ValidString(got) {
			t.Errorf("%d bytes, valid: %v", len(got), utf8.ValidString(got))
		}
		if !strings.HasPrefix(got, Prefix) && !own(got) {
			t.Errorf("%q has another beginning", got)
		}
		for _, r := range got {
			if r != ' ' && !unicode.IsGraphic(r) ||
				unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
				t.Errorf("%q holds %U", got, r)
			}
		}
		if again := Sanitise(got); again != got {
			t.Errorf("a second time: %q, not %q", again, got)
		}
		if err := Check(got); err != nil {
			t.Errorf("Check(%q) = %v", got, err)
		}
	})
}
