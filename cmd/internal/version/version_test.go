package version

import (
	"runtime/debug"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	stamped := &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.modified", Value: "true"},
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
		if got := Of(tt.info); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
