package top

import (
	"strings"
	"testing"

	"sm/observer/api"
)

// hostileNames returns names that an agent or a folder may have.
func hostileNames() []string {
	return []string{
		"", " ", "\x1b[2J\x1b[31mred", "two\nlines\rof\ttext", "\u202etfel\u2066", "日本語の名前です全角", "e\u0301\u0301\u0301\u0301combined",
		"👩‍👩‍👧‍👦👍🏽🇩🇪", "\u1100\u1161\u11a8", "ﷺ﷽", "नमस्ते", "\u200b\u200d\ufeff", "\xff\xfe bad", strings.Repeat(
			"x",
			10_000,
		), strings.Repeat(
			"長",
			10_000,
		),
		"\u2028\u0085", "a\u0000b", "🏴‍☠️❤️", "⟦⟧", "\U000e0041",
	}
}

// FuzzTopScreen checks that no name or filter breaks the screen, at any size.
func FuzzTopScreen(f *testing.F) {
	for i, name := range hostileNames() {
		for _, size := range [][2]uint8{
			{0, 0},
			{1, 1},
			{2, 3},
			{7, 4},
			{20, 5},
			{40, 12},
			{80, 24},
			{200, 50},
		} {
			f.Add(name, "e", size[0], size[1], i%2 == 0)
		}
	}
	f.Fuzz(func(t *testing.T, name, filter string, width, height uint8, colour bool) {
		x := newModel(colour)
		x.Width = int(width)
		x.height = int(height)
		s := topSession("a", 50_000, "{}")
		for _, field := range []*string{
			&s.Title, &s.Label, &s.Name, &s.Project, &s.Model,
			&s.State, &s.Handoff, &s.CWD, &s.TranscriptPath, &s.Host,
		} {
			*field = name
		}
		x.poll(api.Sessions{
			Sessions: []api.Session{s, topSession("b", 90_000, "{}")},
			Demo:     colour,
		}, nil, topNow)
		checkScreen(t, x, x.screen())
		x.keys("G", "enter")
		checkScreen(t, x, x.screen())
		x.keys("esc", "/")
		x.key("", filter)
		checkScreen(t, x, x.screen())
	})
}
