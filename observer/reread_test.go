package observer

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestCriticalNoticeNamesFiles tests that the critical notice names the files that the agent
// read again after its last compaction, in characters without a meaning in a shell, unless
// switched off.
func TestCriticalNoticeNamesFiles(t *testing.T) {
	t.Parallel()
	reads := func(at, msg string, context int, file string) string {
		line := reply(at, msg, context, 10)
		return strings.Replace(
			line,
			`"usage":`,
			fmt.Sprintf(
				`"content":[{"type":"tool_use","id":"t-%s","name":"Read","input":{"file_path":%q}}],"usage":`,
				msg,
				file,
			),
			1,
		)
	}
	for wanted, want := range map[bool]string{
		true:  " After past compactions you needed: sub/a__rm_.go, secret.go. #",
		false: "Compaction is near. #",
	} {
		t.Run(fmt.Sprint(wanted), func(t *testing.T) {
			t.Parallel()
			r := newWatched(t)
			r.o.Rereads = wanted
			r.start()
			const odd, secret = "/home/dev/web/sub/a;$rm`.go", "/etc/secret.go"
			r.hookAt(time.Now().Add(-4*time.Minute), "SessionStart", `,"source":"startup"`)
			r.write(
				uuid(1),
				prompt(ago(3*time.Minute), "p0", "Go."),
				reads(ago(170*time.Second), "m0", 90_000, odd),
				reads(ago(160*time.Second), "m1", 95_000, secret),
				boundary(ago(150*time.Second), "b1", "auto", 96_000),
				reads(ago(140*time.Second), "m2", 20_000, odd),
				reads(ago(130*time.Second), "m3", 30_000, secret),
				reads(ago(120*time.Second), "m4", 31_000, "/home/dev/web/new.go"),
				reply(ago(60*time.Second), "m5", 140_000, 10),
			)
			r.untilMail("it is critical", "em/2/critical waiting")
			if line := r.fire("em", uuid(1), "Stop", ""); !strings.Contains(line, want) {
				t.Errorf("got %q, want %q", line, want)
			}
		})
	}
}
