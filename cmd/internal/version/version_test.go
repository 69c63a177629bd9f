package version

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestBuild(t *testing.T) {
	t.Parallel()
	stamped := &debug.BuildInfo{Settings: []debug.BuildSetting{
		{
			Key:   "vcs.revision",
			Value: "0123456789abcdef0123",
		},
		{
			Key:   "vcs.modified",
			Value: "true",
		},
		{Key: "vcs.time", Value: "2026-03-04T23:59:59Z"},
	}}
	stamped.Main.Version = "v1.2.3"
	tests := []struct {
		name string
		info *debug.BuildInfo
		want Build
	}{
		{"nothing", nil, Build{"devel", "no commit", ""}},
		{"unstamped", &debug.BuildInfo{}, Build{"devel", "no commit", ""}},
		{"stamped", stamped, Build{"v1.2.3", "0123456789ab-dirty", "2026-03-04"}},
	}
	for _, tt := range tests {
		if got := of(tt.info); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestLine tests that programs built without a commit print different versions if their hooks
// differ.
func TestLine(t *testing.T) {
	t.Parallel()
	built := func(revision, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{
			Settings: []debug.BuildSetting{{
				Key:   "vcs.revision",
				Value: revision,
			}, {
				Key:   "vcs.modified",
				Value: modified,
			}},
		}
	}
	for name, c := range map[string]struct {
		info  *debug.BuildInfo
		alike bool
	}{
		"no commit": {&debug.BuildInfo{}, false},
		"changed":   {built("0123456789abcdef", "true"), false},
		"a commit":  {built("0123456789abcdef", "false"), true},
	} {
		if a, b := lineOf(of(c.info), "a"), lineOf(of(c.info), "b"); (a == b) != c.alike {
			t.Errorf("%s: %q and %q", name, a, b)
		}
	}
	if a, want := lineOf(
		of(built("0123456789abcdef", "true")),
		"",
	), "0123456789ab-dirty)"; !strings.HasSuffix(
		a,
		want,
	) {
		t.Errorf("not stamped: got %q, want …%s", a, want)
	}
}
