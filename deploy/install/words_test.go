package install

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/dashboards/screen/plain"
)

func TestShellWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"":                              nil,
		"  a\tb  ":                      {"a", "b"},
		`a'b c'"d e"\ f ''`:             {"ab cd e f", ""},
		`"a\"b\$\c" 'a\b'`:              {`a"b$\c`, `a\b`},
		"~/x ~ a~":                      nil,
		"~/x ~":                         {"/h/x", "/h"},
		`$HOME/a ${HOME}b "$HOME" '$H'`: {"/h/a", "/hb", "/h", "$H"},
		"a=b c":                         {"a=b", "c"},
	} {
		if got := shellWords(in, "/h"); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{
		"a | b",
		"a;b",
		"a && b",
		"$(a)",
		"`a`",
		`"$(a)"`,
		"\"`a`\"",
		"$X",
		`"$HOMES"`,
		"a >b",
		"a*",
		"a 'b",
		`a "b`,
		"a\nb",
		`a\`,
		"#a",
		"(a)",
	} {
		if got := shellWords(in, "/h"); got != nil {
			t.Errorf("%s: got %q, want a refusal", in, got)
		}
	}
}

// FuzzShellWords tests that a shell splits words in the same way, and reads quoted text
// unchanged.
func FuzzShellWords(f *testing.F) {
	for _, s := range []string{"sm hook", `a "b\$c" 'd e'\''`, "~/x $HOME", "é ü", "-n -e", `"a\
b"`, "a=b c"} {
		f.Add(s)
	}
	shell := func(t *testing.T, args string) []string {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "printf '%s\\0' "+args)
		cmd.Env = []string{"HOME=/h"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsRune(s, 0) || len(s) > 1000 {
			return
		}
		if got := shell(t, plain.ShellQuote(s)); !slices.Equal(got, []string{s}) {
			t.Fatalf("%q is quoted as %s and read as %q", s, plain.ShellQuote(s), got)
		}
		if got := shellWords(plain.ShellQuote(s), "/h"); !slices.Equal(got, []string{s}) {
			t.Fatalf("%s is taken for %q", plain.ShellQuote(s), got)
		}
		if words := shellWords(s, "/h"); words != nil {
			if got := shell(t, strings.Trim(s, " \t\n")); !slices.Equal(got, words) {
				t.Fatalf("%q: %q, and a shell reads %q", s, words, got)
			}
		}
	})
}

func TestOwnCommand(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"sm statusline": {},
		"/a/b/sm statusline --socket /s -- 'x y'": {"--socket", "/s", "--", "x y"},
		"exec ~/bin/sm statusline":                {},
		"A=1 B_2=' ' env C=3 sm statusline a":     {"a"},
		"statusline":                              nil,
		"sm hook":                                 nil,
		"sms statusline":                          nil,
		"a-b=1 sm statusline":                     nil,
		"x sm statusline":                         nil,
	} {
		got, ok := ownCommand(shellWords(in, "/h"), "statusline", "")
		if diff := cmp.Diff(want, got); diff != "" || ok != (want != nil) {
			t.Errorf("%s: %v (-want +got):\n%s", in, ok, diff)
		}
	}
}
