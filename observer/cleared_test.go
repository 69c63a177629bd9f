package observer

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// cut is a reply to a request that the client has left tool results of so many tokens out of.
func cut(tokens int, reply string) string {
	return strings.Replace(reply, `"usage":`, fmt.Sprintf(`"context_management":{"client_cut_tool_uses":3,"client_estimated_cleared_input_tokens":%d},"usage":`, tokens), 1)
}

// TestCleared: what the client has cleared from a context is shown beside it, where it counts on the way to a
// compaction threshold.
func TestCleared(t *testing.T) {
	r := newRig(t)
	r.write(uuid(1), cut(40_000, reply(ago(time.Minute), "m1", 56_000, 1)))
	r.write(uuid(2), reply(ago(time.Minute), "m2", 56_000, 1))
	r.start()
	r.until("the transcripts are read", func() bool { return len(having(r.scrape(), "agent_session_context_tokens")) == 2 })
	got := having(r.scrape(), "agent_session_cleared_tokens")
	if len(got) != 1 || got[`agent_session_cleared_tokens{session="`+uuid(1)[:8]+`"}`] != 40_000 {
		t.Errorf("%v", got)
	}
	for id, want := range map[string]int64{uuid(1): 40_000, uuid(2): 0} {
		if s := r.session(id); s.ClearedTokens != want || s.TokensUsed == nil || *s.TokensUsed != 56_000 {
			t.Errorf("%s: %d cleared beside %v, want %d", id, s.ClearedTokens, s.TokensUsed, want)
		}
	}
}
