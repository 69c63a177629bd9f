package claude

import (
	"sm/transcript/claude/hook"
	"sm/transcript/clients"
)

// Client describes Claude Code, with its transcripts in these folders.
func Client(dirs ...string) clients.Client {
	return clients.Client{
		Format:   Format(),
		Dirs:     dirs,
		WindowOf: WindowOf,
		CompactsAt: func(a *hook.AutoCompact, window int64, model, version string) (int64, clients.Basis) {
			setting := (*AutoCompact)(a)
			return setting.CompactsAt(window, model, version), setting.Basis(model, version)
		},
		StopAnswered:    func(version, _ string) bool { return hook.StopHeard(version) },
		StatusLine:      true,
		CompactStarts:   true,
		WritesAfterStop: true,
		GuardsTools:     true,
	}
}
