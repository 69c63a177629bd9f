package handoff

import (
	"strings"
	"testing"
	"unicode"
)

func TestChannelOf(t *testing.T) {
	configured := []Channel{
		{
			"dev",
			"/home/dev",
		}, {
			"web",
			"/home/dev/web/",
		}, {
			"api",
			"/home/dev/web/api",
		}, {
			"again",
			"/home/dev/web",
		}, {
			"none",
			"",
		}, {
			"",
			"/srv",
		}, {
			"all",
			"/opt/../",
		},
	}
	for _, c := range []struct{ dir, want, path string }{
		{"/home/dev/web", "web", "/home/dev/web"},
		{"/home/dev/web/", "web", "/home/dev/web"},
		{"/home/dev/web/src/x", "web", "/home/dev/web"},
		{"/home/dev/website", "dev", "/home/dev"}, // whole elements
		{"/home/dev/web/api/v1", "api", "/home/dev/web/api"},
		{"/home/dev/web/../other", "dev", "/home/dev"},
		{"/srv/x", "all", "/"},
		{"", "global", ""},
	} {
		if got := ChannelOf(configured, c.dir); got != (Channel{c.want, c.path}) {
			t.Errorf("%q: got %+v", c.dir, got)
		}
	}
	if got := ChannelOf(
		nil,
		"/home/dev/my_web.app/",
	); got != (Channel{
		"-home-dev-my-web-app",
		"/home/dev/my_web.app",
	}) {
		t.Errorf("got %+v", got)
	}
}

// TestProjectName compares with folder names of the client.
func TestProjectName(t *testing.T) {
	for dir, want := range map[string]string{
		"/home/dev/proj": "-home-dev-proj", "/": "-", "/a/.b": "-a--b", "/größe": "-gr--e", "/\U0001F600": "---", "/a-b/c_d e": "-a-b-c-d-e",
	} {
		if got := ProjectName(dir); got != want {
			t.Errorf("%q: got %q, want %q", dir, got, want)
		}
	}
	long := ProjectName("/" + strings.Repeat("x", 300))
	longer := ProjectName("/" + strings.Repeat("x", 301))
	if len(long) != maxName || len(longer) != maxName || long == longer {
		t.Errorf("%d and %d bytes", len(long), len(longer))
	}
}

// FuzzNames tests that any channel and agent have a file name that is one element of a path.
func FuzzNames(f *testing.F) {
	names := []string{
		"", ".", "..", "../../etc/passwd", `a\b`, "-home-dev", "a/b", "new\nline", "\u202egpj", "\x00", "\xff",
		"current", "x-CURRENT", "~", "%7E", strings.Repeat(
			"x",
			500,
		), strings.Repeat(
			"x",
			501,
		), strings.Repeat(
			"日",
			99,
		),
	}
	for _, channel := range names {
		for _, agent := range names {
			f.Add(channel, agent)
		}
	}
	f.Fuzz(func(t *testing.T, channel, agent string) {
		if safe(channel) == safe(agent) && channel != agent {
			t.Fatalf("%q and %q have one name", channel, agent)
		}
		for _, name := range []string{
			manifestFile(channel), documentFile(channel, agent),
		} {
			if len(name) > 240 ||
				name[0] == '.' || strings.ContainsFunc(name, func(r rune) bool {
				return r == '/' || unicode.IsControl(r) ||
					r == unicode.ReplacementChar && strings.ToValidUTF8(name, "") != name
			}) {
				t.Fatalf("%q, %q: %d bytes: %q", channel, agent, len(name), name)
			}
		}
	})
}
