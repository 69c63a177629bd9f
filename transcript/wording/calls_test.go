package wording

import "testing"

// TestPlainProgram tests that a text with the path of sm becomes the text without it.
func TestPlainProgram(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"run sm handoff PATH":               "run sm handoff PATH",
		"run /opt/sm handoff PATH":          "run sm handoff PATH",
		"run /a handoff x. run /b handoff.": "run sm handoff x. run sm handoff.",
		"Call /opt/sm handoff again":        "Call sm handoff again",
		"run /opt/sm status":                "run /opt/sm status",
		"run /run /opt/sm handoff":          "run /run sm handoff",
		"run /opt/sm":                       "run /opt/sm",
	} {
		if got := PlainProgram(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	const text = "Look. run sm handoff PATH. Call sm handoff again."
	if got := PlainProgram(NameProgram(text, "/usr/bin/sm")); got != text {
		t.Errorf("got %q, want %q", got, text)
	}
}
