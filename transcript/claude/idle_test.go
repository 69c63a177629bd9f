package claude_test

import (
	"testing"
	"time"

	"sm/transcript/claude"
)

func TestIdleCompaction(t *testing.T) {
	t.Parallel()
	expires := time.Date(2026, 11, 23, 17, 38, 0, 0, time.UTC)
	at := expires.Add(-6 * time.Minute)

	for name, test := range map[string]struct {
		setting claude.AutoCompact
		tokens  int64
		ttl     string
		expires time.Time
		want    time.Time
	}{
		"large":       {claude.AutoCompact{}, 200_000, "1h", expires, at},
		"small":       {claude.AutoCompact{}, 199_999, "1h", expires, time.Time{}},
		"short cache": {claude.AutoCompact{}, 250_000, "5m", expires, time.Time{}},
		"no cache":    {claude.AutoCompact{}, 250_000, "1h", time.Time{}, time.Time{}},
		"never compacts": {claude.AutoCompact{
			Off: true,
		}, 250_000, "1h", expires, time.Time{}},
		"not while idle": {claude.AutoCompact{
			IdleOff: true,
		}, 250_000, "1h", expires, time.Time{}},
		"own minimum": {claude.AutoCompact{
			IdleMin: "120000",
		}, 120_000, "1h", expires, at},
		"minimum at its bound": {claude.AutoCompact{
			IdleMin: "1",
		}, 99_999, "1h", expires, time.Time{}},
		"minimum is no number": {claude.AutoCompact{
			IdleMin: "many",
		}, 150_000, "1h", expires, time.Time{}},
	} {
		if got := test.setting.IdleCompaction(
			test.tokens,
			test.ttl,
			test.expires,
		); !got.Equal(test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
