package observer

import (
	"strings"
	"testing"
)

// TestPreCompactIsLogged tests that the log shows how full the context was, and whether the
// agent had received a notice.
func TestPreCompactIsLogged(t *testing.T) {
	t.Parallel()
	for want, step := range map[string]func(r *rig){
		`notice="too late" tokens=136000 window=200000 used_percentage=68`: func(*rig) {},
		`notice=offered tokens=136000 window=200000 used_percentage=68`: func(r *rig) {
			r.fire(
				"em",
				uuid(1),
				"PostToolUse",
				"",
			)
		},
		`notice=read tokens=136000 window=200000 used_percentage=68`: func(r *rig) {
			r.write(uuid(1), attachment(ago(0), r.fire("em", uuid(1), "PostToolUse", "")))
			r.until(
				"it is received",
				func() bool {
					return strings.Contains(
						strings.Join(r.mail(), "\n"),
						"critical confirmed",
					)
				},
			)
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			r := newWatched(t)
			r.start()
			r.joins("em", "")
			r.fire("em", uuid(1), "SessionStart", `,"source":"startup"`)
			r.write(uuid(1), prompt(ago(0), "p1", "Go."), reply(ago(0), "m1", 136_000, 10))
			r.until(
				"it is critical",
				func() bool {
					return strings.Contains(
						strings.Join(r.mail(), "\n"),
						"critical",
					)
				},
			)
			step(r)
			r.fire("em", uuid(1), "PreCompact", `,"trigger":"auto"`)
			r.stop()
			if line := `level=WARN msg="a compaction begins" agent=em trigger=auto ` + want; strings.Count(
				r.log.String(),
				line,
			) != 1 {
				t.Errorf("no line %s\n%s", line, r.log)
			}
		})
	}
}
