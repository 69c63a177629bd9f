package claude

import (
	"sm/transcript/claude/hook"
	"sm/transcript/clients"
)

// Client returns the description of Claude Code, with its transcripts in dirs.
func Client(dirs ...string) clients.Client {
	return clients.Client{
		Format:   Format(),
		Dirs:     dirs,
		WindowOf: WindowOf,
		CompactsAt: func(a *hook.AutoCompact, window int64, model, version string) (int64, clients.Basis) {
			setting := (*AutoCompact)(a)
			return setting.CompactsAt(window, model, version), setting.Basis(model, version)
		},
		// Older clients reject the answer and show an error; an unknown version counts as new.
		StopAnswered: func(version, _ string) bool {
			return version == "" || hook.AtLeast(version, 2, 1, 175)
		},
		StatusLine:      true,
		CompactStarts:   true,
		WritesAfterStop: true,
		GuardsTools:     true,
	}
}
