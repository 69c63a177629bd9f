package claude

import "sm/transcript"

const (
	smallWindow = 200_000
	largeWindow = 1_000_000
)

// modelWindows lists the models whose window does not depend on plan or suffix,
// after the vendor's documentation of August 2026. A transcript never carries the
// suffix [1m], so models that come with both windows are missing here.
var modelWindows = [...]transcript.WindowRule{
	{Model: "claude-fable-5", Tokens: largeWindow},
	{Model: "claude-sonnet-5", Tokens: largeWindow},
	{Model: "claude-opus-4-7", Tokens: largeWindow},
	{Model: "claude-opus-4-8", Tokens: largeWindow},
	{Model: "claude-opus-4-9", Tokens: largeWindow},
	{Model: "claude-sonnet-4-5", Tokens: smallWindow},
	{Model: "claude-haiku-4-5", Tokens: smallWindow},
}

// WindowOf finds the window of a session: the size in its status line (0: unknown), else that
// of the configuration, else a million tokens once it has shown more than 200,000, else the
// table of models, and 200,000 where nothing else is known.
func WindowOf(
	s *transcript.Session,
	statusline int64,
	rules []transcript.WindowRule,
) transcript.Window {
	configured := transcript.Configured(rules, s.Model)
	switch {
	case statusline > 0:
		return transcript.Window{Tokens: statusline, Source: transcript.WindowStatusline}
	case configured > 0:
		return transcript.Window{Tokens: configured, Source: transcript.WindowConfig}
	case s.Peak > smallWindow:
		return transcript.Window{Tokens: largeWindow, Source: transcript.WindowObserved}
	}
	for _, r := range modelWindows {
		if r.Names(s.Model) {
			return transcript.Window{Tokens: r.Tokens, Source: transcript.WindowModel}
		}
	}
	return transcript.Window{Tokens: smallWindow, Source: transcript.WindowDefault}
}
