package codex

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHookPrompt(t *testing.T) {
	t.Parallel()

	type result struct {
		Text string
		OK   bool
	}
	for name, tt := range map[string]struct {
		in   string
		want result
	}{
		"plain": {
			`<hook_prompt id="1">[sm message] Go on. #a1b2c3</hook_prompt>`,
			result{"[sm message] Go on. #a1b2c3", true},
		},
		"escaped": {
			`<hook_prompt>Mind the &lt;gap&gt; &amp; "go" on</hook_prompt>`,
			result{`Mind the <gap> & "go" on`, true},
		},
		"one pass": {`<hook_prompt>&amp;lt;</hook_prompt>`, result{"&lt;", true}},
		"other":    {"Mind the <gap>", result{}},
		"open tag": {"<hook_prompt id", result{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			text, ok := hookPrompt([]byte(tt.in))
			if diff := cmp.Diff(tt.want, result{string(text), ok}); diff != "" {
				t.Errorf("hookPrompt(%q) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}
