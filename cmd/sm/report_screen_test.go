package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"sm/dashboards/screen"
	"sm/transcript/follow"
	"sm/transcript/transcripttest"
)

// fitsWidth wants a text within 80 columns.
func fitsWidth(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestReportFitsATerminal: what is printed of real and of generated transcripts fits into 80 columns.
func TestReportFitsATerminal(t *testing.T) {
	dir := t.TempDir()
	if _, err := transcripttest.Generate(dir, transcripttest.Options{
		Seed:      5,
		Bytes:     8 << 20,
		LineBytes: 500,
		Copies:    true,
		Traps:     true,
	}); err != nil {
		t.Fatal(err)
	}
	paths := []string{dir}
	if dir := os.Getenv("SM_CORPUS"); dir != "" {
		paths = append(paths, dir)
	}
	for _, path := range paths {
		for _, locale := range []string{"", "C", "de_DE.UTF-8", "de_DE.ISO-8859-1"} {
			plainEnvironment(t)
			t.Setenv("LC_ALL", locale)
			text := string(outputHere(
				t,
				"report",
				"--verbose",
				path,
			)) + string(outputHere(
				t,
				"replay",
				"--grid",
				"--verbose",
				path,
			))
			fitsWidth(t, text)
			ascii := locale == "C" || locale == "de_DE.ISO-8859-1"
			if strings.Contains(text, "█") == ascii || strings.Contains(text, "–") == ascii ||
				strings.Contains(text, "#") != ascii {
				t.Errorf("wrong characters for %q:\n%s", locale, text)
			}
		}
	}
}

// TestReportNames: a session is listed with the compactions of known size, only models lose the maker's name, and a
// folder's wide characters take two cells.
func TestReportNames(t *testing.T) {
	a := transcripttest.NewHandWritten(1)
	b := transcripttest.NewHandWritten(2)
	for _, size := range []int{160, 161, 162} {
		a.Turn()
		a.Read(size - 2)
		a.Compact("auto", size)
	}
	for size := 30; size > 20; size -= 2 {
		b.Turn()
		b.Read(size)
		b.Compact("manual", size)
	}
	for range 2 {
		b.Turn()
		b.Read(100)
		b.Compact("auto", 150)
	}
	dir := transcripttest.Written(t, t.TempDir(), a, b)
	for n, cwd := range []string{"/home/dev/claude-tools", "/home/dev/日本語プロジェクト名前長いですよねとても長いのです"} {
		s := transcripttest.NewHandWritten(3 + n)
		s.Turn()
		s.Read(20)
		for _, r := range s.Records {
			r["cwd"] = cwd
		}
		transcripttest.Written(t, dir, s)
	}
	text := string(output(t, "report", "--verbose", dir))
	for _, part := range []string{
		"Session with 3 compactions           at 160k–162k tokens\n  Session with 2 compactions           at 150k tokens",
		"\nclaude-tools ",
		"\nopus-4-6 ",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing:\n%s", part, text)
		}
	}
	var widths []int
	for line := range strings.Lines(text) {
		if n := screen.Cells(strings.TrimSuffix(
			line,
			"\n",
		)); strings.Contains(line, "web  ") || strings.Contains(line, "のです") ||
			strings.HasPrefix(line, "PROJECT") {
			widths = append(widths, n)
		}
	}
	if len(widths) != 3 || widths[0] != widths[1] || widths[1] != widths[2] || widths[0] > 80 {
		t.Errorf("lines of %v cells:\n%s", widths, text)
	}
}

// TestReportUsage: errors of the command line and of reading are one line with the remedy.
func TestReportUsage(t *testing.T) {
	plainEnvironment(t)
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{
			[]string{"replay", "--warning", "abc", dir},
			exitUsage,
			"sm: --warning \"abc\": give a whole number; see 'sm --help'\n",
		},
		{
			[]string{"replay", "--grid", "--critical", "5x", dir},
			exitUsage,
			"sm: --critical \"5x\": give a whole number; see 'sm --help'\n",
		},
		{
			[]string{"replay", "--warning", "70", dir},
			exitUsage,
			"sm: --warning 70 and --critical 65: give percentages of 0 to 100, the critical one not below the other; see 'sm --help'\n",
		},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), c.args, nil, &stdout, &stderr); code != c.code || stderr.String() != c.want {
			t.Errorf("%v: %d %q, want %q", c.args, code, stderr.String(), c.want)
		}
	}
	for n, want := range map[int]string{1: "a file or folder could not", 3: "3 files or folders could not"} {
		if err := (&follow.UnreadError{
			Errs: make([]error, n),
		}); !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "make") {
			t.Errorf("%d: %s", n, err)
		}
	}
}
