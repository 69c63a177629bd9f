package claude

import "sm/transcript"

const (
	smallWindow = 200_000
	largeWindow = 1_000_000
)

// modelWindows lists the models whose window does not depend on plan or suffix,
// according to the vendor's documentation of August 2026. Transcripts do not
// contain the suffix [1m], so models that are available with both windows are
// missing here.
var modelWindows = map[int64][]string{
	largeWindow: {
		"claude-fable-5",
		"claude-sonnet-5",
		"claude-opus-4-7",
		"claude-opus-4-8",
		"claude-opus-4-9",
	},
	smallWindow: {"claude-sonnet-4-5", "claude-haiku-4-5"},
}

// WindowOf returns the window of a session: the size in its status line (0:
// unknown), else that of the configuration, else a million tokens if the
// session has had more than 200,000, else that of the table of models, else
// 200,000.
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
	for tokens, models := range modelWindows {
		for _, model := range models {
			if (transcript.WindowRule{Model: model}).Names(s.Model) {
				return transcript.Window{Tokens: tokens, Source: transcript.WindowModel}
			}
		}
	}
	return transcript.Window{Tokens: smallWindow, Source: transcript.WindowDefault}
}
