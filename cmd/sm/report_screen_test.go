package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"sm/transcript/transcripttest"
)

// fitsWidth checks that a text fits into 80 columns.
func fitsWidth(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestReportFitsATerminal tests that the output for recorded and generated transcripts fits
// into 80 columns.
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
	for _, locale := range []string{"", "C", "de_DE.UTF-8", "de_DE.ISO-8859-1"} {
		vars := map[string]string{"LC_ALL": locale}
		text := string(outputIn(
			t,
			vars,
			"report",
			"--verbose",
			dir,
		)) + string(outputIn(
			t,
			vars,
			"replay",
			"--grid",
			"--verbose",
			dir,
		))
		fitsWidth(t, text)
		ascii := locale == "C" || locale == "de_DE.ISO-8859-1"
		if strings.Contains(text, "█") == ascii || strings.Contains(text, "–") == ascii ||
			strings.Contains(text, "#") != ascii {
			t.Errorf("wrong characters for %q:\n%s", locale, text)
		}
	}
}
