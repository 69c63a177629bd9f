package codex

import (
	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/clients"
)

// New returns the description of Codex, with its transcripts in dirs. held is
// for [Format].
func New(held func(path string) (transcript.Holder, bool), dirs ...string) clients.Client {
	return clients.Client{
		Format: Format(held),
		Dirs:   dirs,
		Begins: Begins,
		WindowOf: func(s *transcript.Session, _ int64, rules []transcript.WindowRule) transcript.Window {
			return WindowOf(s, rules)
		},
		CompactsAt: func(_ *hook.AutoCompact, window int64, _, _ string) (int64, clients.Basis) {
			return CompactsAt(window), clients.Assumed
		},
		// The answer to its Stop hook does not make a subagent continue.
		StopAnswered: func(_, agentType string) bool { return agentType == "" },
		Threads:      true,
	}
}
