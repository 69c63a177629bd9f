package observer

import (
	"strings"
	"testing"

	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/claude/hook"
	"sm/transcript/clients"
	"sm/transcript/clients/clientstest"
)

// piFold is the fold of a third client, whose records resemble those of Claude Code.
type piFold struct{ *claude.Fold }

func (f piFold) Sum() *transcript.Session {
	s := f.Fold.Sum()
	s.SetParticulars(transcript.Particulars{Client: "pi"})
	return s
}

// pi describes a third client with a window of 40,000 tokens.
func pi(dirs ...string) clients.Client {
	c := claude.Client(dirs...)
	format := *c.Format
	format.Client = "pi"
	format.NewFold = func(f transcript.File) transcript.Fold {
		return piFold{claude.NewFold(f.Name, f.Subagent)}
	}
	c.Format = &format
	c.Begins = func([]byte) bool { return false }
	c.WindowOf = func(*transcript.Session, int64, []transcript.WindowRule) transcript.Window {
		return transcript.Window{Tokens: 40_000, Source: transcript.WindowModel}
	}
	c.CompactsAt = func(*hook.AutoCompact, int64, string, string) (int64, clients.Basis) {
		return 36_000, clients.Assumed
	}
	return c
}

// TestThirdClient tests that a client is one value in the table: its sessions have its own
// window and threshold, and its agent gets a warning and hands over.
func TestThirdClient(t *testing.T) {
	t.Parallel()
	c := newFakeClients(t)
	r := c.r
	r.o.Clients = append(clients.Table{pi(r.projects)}, clientstest.Table()...)
	r.start()
	a := c.newClient("w1", 3)
	a.client = "pi"
	a.context = 34_000
	a.starts("startup")
	a.works("Go.")
	r.until("the reading is shown", func() bool { return r.session("w1").TokensUsed != nil })

	s := r.session("w1")
	if s.Client != "pi" || s.WindowTokens != 40_000 || *s.UsedPercentage != 85 ||
		*s.ThresholdTokens != 36_000 {
		t.Errorf(
			"%s: %d of %d tokens, threshold %d",
			s.Client,
			*s.TokensUsed,
			s.WindowTokens,
			*s.ThresholdTokens,
		)
	}
	if text := a.hook(
		"UserPromptSubmit",
		`,"prompt":"next"`,
	); !strings.Contains(
		text,
		"[sm context]",
	) {
		t.Errorf("got %q, want a warning", text)
	}
	id := a.hands(c.doc("doc.md", "Next: CI.\n"))
	a.ends()
	r.handoffIs(id, "confirmed")
}
