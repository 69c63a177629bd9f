package claude

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

const (
	titledSession = "00000000-0000-4000-8000-00000000000a"
	otherSession  = "00000000-0000-4000-8000-00000000000b"
)

func customTitle(session, title string) string {
	return fmt.Sprintf(`{"type":"custom-title","customTitle":%q,"sessionId":%q}`, title, session)
}

func aiTitle(session, title string) string {
	return fmt.Sprintf(`{"type":"ai-title","aiTitle":%q,"sessionId":%q}`, title, session)
}

func summaryTitle(leaf, title string) string {
	return fmt.Sprintf(`{"type":"summary","summary":%q,"leafUuid":%q}`, title, leaf)
}

func branchPrompt(uuid, branch, text string) string {
	return fmt.Sprintf(`{"type":"user","uuid":%q,"sessionId":%q,"gitBranch":%q,"version":"2.1.0","message":{"role":"user","content":%q}}`,
		uuid, titledSession, branch, text)
}

func TestTitles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lines []string
		want  transcript.Title
	}{
		"nothing": {nil, transcript.Title{}},
		"first prompt": {[]string{
			branchPrompt("1", "", "Fix\nthe bug"),
			branchPrompt("2", "", "Now another"),
		}, transcript.Title{
			Text:   "Fix the bug",
			Source: transcript.TitlePrompt,
		}},
		"a prompt of sm is none": {[]string{
			branchPrompt("1", "", "[sm message] #a1b2c3"),
			branchPrompt("2", "", "Read /x and continue from where you left off."),
			branchPrompt("3", "", "Hello"),
		},
			transcript.Title{Text: "Hello", Source: transcript.TitlePrompt}},
		"a command is none": {[]string{
			branchPrompt("1", "", "<command-name>/clear</command-name>"),
			branchPrompt("2", "", "Hello"),
		}, transcript.Title{
			Text:   "Hello",
			Source: transcript.TitlePrompt,
		}},
		"a long prompt": {[]string{branchPrompt("1", "", strings.Repeat("word ", 1000))}, transcript.Title{
			Text:   strings.Repeat("word ", 11) + "word…",
			Source: transcript.TitlePrompt,
		}},
		"the newest branch": {[]string{
			branchPrompt("1", "main", "Hello"),
			branchPrompt("2", "fix/parser", "Hello"),
		}, transcript.Title{
			Text:   "fix/parser",
			Source: transcript.TitleBranch,
		}},
		"HEAD is no branch": {[]string{branchPrompt("1", "HEAD", "Hello")}, transcript.Title{
			Text:   "Hello",
			Source: transcript.TitlePrompt,
		}},
		"a summary": {[]string{branchPrompt("1", "main", "Hello"), summaryTitle("1", "Greetings")}, transcript.Title{
			Text:   "Greetings",
			Source: transcript.TitleSummary,
		}},
		"another's summary": {[]string{
			summaryTitle("9", "Elsewhere"),
			branchPrompt("1", "main", "Hello"),
		}, transcript.Title{
			Text:   "main",
			Source: transcript.TitleBranch,
		}},
		"a summary of no one": {[]string{
			branchPrompt("1", "main", "Hello"),
			`{"type":"summary","summary":"Nowhere"}`,
		}, transcript.Title{
			Text:   "main",
			Source: transcript.TitleBranch,
		}},
		"a generated title": {[]string{
			aiTitle(titledSession, "First"),
			aiTitle(titledSession, "Second"),
			summaryTitle("1", "No"),
		}, transcript.Title{
			Text:   "Second",
			Source: transcript.TitleGenerated,
		}},
		"a title of the user": {[]string{
			customTitle(titledSession, "Mine"),
			aiTitle(titledSession, "Made up"),
		}, transcript.Title{
			Text:   "Mine",
			Source: transcript.TitleCustom,
		}},
		"taken back": {[]string{
			customTitle(titledSession, "Mine"),
			aiTitle(titledSession, "Made up"),
			customTitle(titledSession, ""),
		}, transcript.Title{
			Text:   "Made up",
			Source: transcript.TitleGenerated,
		}},
		"copied by a fork": {[]string{
			branchPrompt("1", "", "Hello"),
			customTitle(otherSession, "Theirs"),
		}, transcript.Title{
			Text:   "Theirs",
			Source: transcript.TitleCustom,
		}},
		"its own wins": {[]string{
			customTitle(otherSession, "Theirs"),
			aiTitle(titledSession, "Own"),
			customTitle(otherSession, "Theirs"),
		}, transcript.Title{
			Text:   "Own",
			Source: transcript.TitleGenerated,
		}},
		"its own, before": {[]string{
			branchPrompt("1", "", "Hello"),
			aiTitle(titledSession, "Own"),
			customTitle(otherSession, "Theirs"),
		}, transcript.Title{
			Text:   "Own",
			Source: transcript.TitleGenerated,
		}},
		"of another type": {
			[]string{`{"type":"custom-title","customTitle":7}`, `{"type":"ai-title","aiTitle":null}`},
			transcript.Title{},
		},
		"hostile": {[]string{`{"type":"custom-title","customTitle":"a\u001b[31m\n\u202eb"}`}, transcript.Title{
			Text:   "a[31m b",
			Source: transcript.TitleCustom,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := NewFold(titledSession, false)
			var e transcript.Entry
			for _, line := range tt.lines {
				if _, err := f.Line([]byte(line), len(line)+1, &e); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(tt.want, f.Facts().Title); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			f.Reset(titledSession, false)
			if got := f.Facts().Title; got != (transcript.Title{}) {
				t.Errorf("%+v is left in the next file", got)
			}
		})
	}
}

// TestTitlesOfSubagents: what a subagent's file says names no session.
func TestTitlesOfSubagents(t *testing.T) {
	t.Parallel()
	f := NewFold("agent-1", true)
	var e transcript.Entry
	line := branchPrompt("1", "main", "Hello")
	f.Line([]byte(line), len(line)+1, &e)
	if got := f.Facts(); got != (transcript.Facts{}) {
		t.Errorf("%+v", got)
	}
}
