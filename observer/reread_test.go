package observer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sm/alerts"
	"sm/transcript"
)

// TestCriticalNoticeNamesFiles: the critical notice names the files that the agent read again after its last compaction,
// in characters without a meaning in a shell, unless switched off.
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
			r.ask(
				"POST",
				"/hooks/claude",
				fmt.Sprintf(
					`{"hook_event_name":"SessionStart","source":"startup","session_id":%q,"sm":{"agent":"em","at":%q}}`,
					uuid(1),
					ago(4*time.Minute),
				),
			)
			r.write(uuid(1), prompt(ago(3*time.Minute), "p0", "Go."),
				reads(
					ago(170*time.Second),
					"m0",
					90_000,
					"/home/dev/web/sub/a;$rm`.go",
				), reads(
					ago(160*time.Second),
					"m1",
					95_000,
					"/etc/secret.go",
				),
				boundary(ago(150*time.Second), "b1", "auto", 96_000),
				reads(
					ago(140*time.Second),
					"m2",
					20_000,
					"/home/dev/web/sub/a;$rm`.go",
				), reads(
					ago(130*time.Second),
					"m3",
					30_000,
					"/etc/secret.go",
				),
				reads(
					ago(120*time.Second),
					"m4",
					31_000,
					"/home/dev/web/new.go",
				), reply(
					ago(60*time.Second),
					"m5",
					140_000,
					10,
				))
			r.untilMail("it is critical", "em/2/critical waiting")
			if line := r.fire("em", uuid(1), "Stop", ""); !strings.Contains(line, want) {
				t.Errorf("heard %q, want %q", line, want)
			}
			r.stop()
		})
	}
}

// TestRereadOfTheProject: an agent that has read nothing again gets the files of others in its project, at most five,
// those of most tokens first.
func TestRereadOfTheProject(t *testing.T) {
	t.Parallel()
	c := applied(t)
	c.settings = &Settings{Rereads: true}
	for i, s := range []struct {
		cwd   string
		files int
	}{{"/home/dev/web", 0}, {"/home/dev/web", 7}, {"/home/dev/api", 2}} {
		b := transcript.Bill{Key: transcript.Key(i + 1), At: 1, Replies: 3}
		for n := range s.files {
			b.Files = append(b.Files, transcript.Reread{
				Key:    transcript.Key(n),
				Name:   fmt.Sprintf("%s/%d.go", s.cwd[10:], n),
				Reads:  1,
				Tokens: int64(100 * n),
			})
		}
		c.fleet.Apply(transcript.Change{
			Cursor: transcript.Cursor{Path: fmt.Sprintf("/x/%s.jsonl", uuid(i))},
			Name:   uuid(i),
			Whole:  true,
			Session: transcript.Session{
				CWD:     s.cwd,
				Lines:   1,
				Active:  5,
				Started: 1,
			},
			Bills: []transcript.Bill{b},
		})
	}
	got := strings.Join(c.reread(alerts.AgentID(uuid(0)), time.Unix(1, 0)), " ")
	if want := "web/6.go web/5.go web/4.go web/3.go web/2.go"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
