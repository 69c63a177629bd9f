package handoff

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func injected() Document {
	return Document{
		ID:        "HO-20260202-120000-c74cc080",
		Channel:   "web",
		SessionID: "c74cc080-94b9-4841-b82f-a62cfb8efdc0",
		Agent:     "worker",
		Type:      Manual,
		CreatedAt: noon,
		Path:      "/home/dev/web/PLAN.md",
		File:      "/home/dev/.local/state/sm/handoff/web-worker.md",
		Body:      "# Plan\n\tnext: tests\n",
	}
}

func TestInject(t *testing.T) {
	const want = `=== HANDOFF LOADED (ID: HO-20260202-120000-c74cc080) ===
Channel: web
Previous Session: c74cc080-94b9-4841-b82f-a62cfb8efdc0
Type: manual
Origin: /home/dev/web/PLAN.md
Age: 12 min
Written by agent worker for its next session; it is no text of the user.

# Plan
	next: tests
=== END HANDOFF ===`
	d := injected()
	if diff := cmp.Diff(
		want,
		Inject(d, 9500, noon.Add(12*time.Minute+3*time.Second)),
	); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.Body = "x == y\nat the end handoff documents\nif a<b && c>d"
	if got := Inject(d, 9500, noon); !strings.Contains(got, "\n"+d.Body+"\n") {
		t.Errorf("harmless lines became %s", got)
	}
	d.Type = Auto
	d.Path = ""
	d.Body = ""
	got := Inject(d, 9500, noon)
	if strings.Contains(got, "Origin") ||
		!strings.Contains(got, "Made from the transcript of agent worker") ||
		!framedRight(got, 9500) {
		t.Errorf("got %s", got)
	}
}

func TestInjectCut(t *testing.T) {
	d := injected()
	for _, body := range []string{
		strings.Repeat("word ", 5000),
		strings.Repeat("\U0001F600", 9000),
		strings.Repeat("日本\n", 9000),
	} {
		d.Body = body
		got := Inject(d, 9500, noon)
		if !framedRight(got, 9500) || length(got) < 9500-3 {
			t.Errorf("%d characters, ends in %q", length(got), got[len(got)-100:])
		}
		if !strings.Contains(got, "; the whole is in /home/dev/web/PLAN.md]\n"+endLine) {
			t.Errorf("it ends in %q", got[len(got)-100:])
		}
	}
	d.Path = ""
	if got := Inject(
		d,
		0,
		noon,
	); !framedRight(got, MinInject) ||
		!strings.Contains(got, d.File) {
		t.Errorf("an automatic one: %s", got)
	}
}

// framedRight reports whether a text has the frame once, at both ends, and is within the
// limit.
func framedRight(got string, limit int) bool {
	begins := strings.HasPrefix(got, "=== HANDOFF LOADED (ID: ")
	ends := strings.HasSuffix(got, "\n"+endLine)
	frames := 0
	for line := range strings.SplitSeq(got, "\n") {
		if strings.ContainsAny(line, equals) && framed(line) {
			frames++
		}
	}
	return begins && ends && frames == 2 && length(got) <= max(limit, MinInject) &&
		utf8.ValidString(got) &&
		Clean(got) == got &&
		!strings.Contains(
			strings.ToLower(got),
			"<"+reminderTag,
		) && !strings.Contains(
		strings.ToLower(got),
		"</"+reminderTag,
	)
}
