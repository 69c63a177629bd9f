package transcript

import (
	"strings"
	"testing"
	"unicode/utf8"

	"sm/transcript/wording"
)

func TestTitleText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                         "",
		" \n\t":                    "",
		"\x00\x1b\x7f":             "",
		"\u200b\u202e":             "",
		"Fix the parser":           "Fix the parser",
		"  Fix\r\n\tthe  b\x07ug ": "Fix the bug",
		"a\u202eb\u2066c\ufeff":    "abc",
		"a\xff\xfeb":               "ab",
		"\x1b[31mred":              "[31mred",
		"Grüße aus Köln ☂":         "Grüße aus Köln ☂",
		"a\U000e0041b":             "ab",
	} {
		if got := NewTitle(in, TitleCustom).Text; got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestPromptTitle tests that text that a client puts before a person's words is no title, nor
// is a text of sm.
func TestPromptTitle(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Fix it": "Fix it",
		"<system-reminder>Look.</system-reminder>\nFix it": "Fix it",
		"<b>Fix it</b>":                    "<b>Fix it</b>",
		"\n[sm message] Look. #a1b2":       "",
		"[sm message] Look. #a1b2\nFix it": "",
		"<ide_opened_file>a.go</ide_opened_file> " + wording.Resume("/a.md"): "",
	} {
		if got := PromptTitle([]byte(in)).Text; got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestTitleIsCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in     string
		source TitleSource
		want   string
	}{
		{strings.Repeat("x", 80), TitleCustom, strings.Repeat("x", 80)},
		{strings.Repeat("x", 81), TitleCustom, strings.Repeat("x", 79) + "…"},
		{strings.Repeat("ö", 200), TitleCustom, strings.Repeat("ö", 79) + "…"},
		{
			strings.Repeat("word ", 30),
			TitlePrompt,
			strings.TrimRight(strings.Repeat("word ", 12), " ") + "…",
		},
		{"x " + strings.Repeat("y", 99), TitlePrompt, "x " + strings.Repeat("y", 57) + "…"},
		{strings.Repeat("x", 60) + "  \n", TitlePrompt, strings.Repeat("x", 60)},
	} {
		got := NewTitle(tt.in, tt.source).Text
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
		if n := utf8.RuneCountInString(got); n > MaxTitle {
			t.Errorf("%q has %d characters", got, n)
		}
	}
}

func FuzzTitle(f *testing.F) {
	f.Add("Fix the bug\nplease", uint8(TitleCustom))
	f.Add(strings.Repeat("a b ", 40), uint8(TitlePrompt))
	f.Fuzz(func(t *testing.T, s string, source uint8) {
		title := NewTitle(s, TitleSource(source))
		if again := NewTitle(title.Text, title.Source); again.Text != title.Text {
			t.Errorf("%q becomes %q", title.Text, again.Text)
		}
		if utf8.RuneCountInString(title.Text) > MaxTitle ||
			strings.ContainsAny(title.Text, "\r\n\t\x00\x1b") ||
			!utf8.ValidString(title.Text) {
			t.Errorf("%q is not printable", title.Text)
		}
	})
}
