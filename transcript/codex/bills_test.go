package codex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// order is in which order a client writes a call, its result and what the reply cost.
type order struct {
	name  string
	old   bool                                               // a count before the compaction is the cost of the request that sums the context up
	reply func(r *rollout, tokens int64, calls ...[2]string) // of each the command and its output
}

func function(r *rollout, id, cmd string) {
	r.add(
		"response_item",
		`{"type":"function_call","name":"exec_command","arguments":%q,"call_id":%q}`,
		fmt.Sprintf(`{"cmd":%q}`, cmd),
		id,
	)
}

func output(r *rollout, id, text string) {
	r.add("response_item", `{"type":"function_call_output","call_id":%q,"output":%q}`, id, text)
}

func orders() []order {
	sum := int64(0)
	next := func(tokens int64) int64 { sum += tokens; return sum }
	id := func(r *rollout, i int) string { return fmt.Sprintf("call_%d_%d", len(r.lines), i) }
	cost := func(r *rollout, tokens int64) {
		r.add(
			"token_usage_record",
			`{"thread_id":%q,"turn_id":"t","response_id":"r%d","usage":{"input_tokens":%d,"output_tokens":40,"total_tokens":%d}}`,
			idA,
			len(r.lines),
			tokens-40,
			tokens,
		)
	}
	return []order{
		{"the size between call and result", true, func(r *rollout, tokens int64, calls ...[2]string) {
			first := len(r.lines)
			for i, c := range calls {
				function(r, fmt.Sprint(first, i), c[0])
			}
			r.count(tokens, next(tokens))
			for i, c := range calls {
				output(r, fmt.Sprint(first, i), c[1])
			}
		}},
		{"the size last", true, func(r *rollout, tokens int64, calls ...[2]string) {
			for i, c := range calls {
				function(r, id(r, i), c[0])
				output(r, id(&rollout{lines: r.lines[1:]}, i), c[1])
			}
			r.count(tokens, next(tokens))
		}},
		{"items too", false, func(r *rollout, tokens int64, calls ...[2]string) {
			first := len(r.lines)
			for i, c := range calls {
				function(r, fmt.Sprint(first, i), c[0])
			}
			cost(r, tokens)
			for i, c := range calls {
				r.event(
					"item_completed",
					`"item":{"type":"CommandExecution","id":%q,"command":["/bin/bash","-lc",%q],"aggregated_output":%q}`,
					fmt.Sprint(first, i),
					c[0],
					c[1],
				)
				output(r, fmt.Sprint(first, i), c[1])
			}
			r.count(tokens, next(tokens))
		}},
		{"a script", false, func(r *rollout, tokens int64, calls ...[2]string) {
			r.add(
				"response_item",
				`{"type":"custom_tool_call","call_id":"c%d","name":"exec","input":"await tools.exec_command()"}`,
				len(r.lines),
			)
			cost(r, tokens)
			for i, c := range calls {
				if _, patch, ok := strings.Cut(c[0], "*** Update File: "); ok {
					r.event(
						"item_completed",
						`"item":{"type":"FileChange","id":"exec-%d-%d","changes":{%q:{"type":"update"}}}`,
						len(r.lines),
						i,
						"/p/"+strings.TrimSpace(patch),
					)
					continue
				}
				r.event(
					"item_completed",
					`"item":{"type":"CommandExecution","id":"exec-%d-%d","command":["/bin/bash","-lc",%q],"aggregated_output":%q}`,
					len(r.lines),
					i,
					c[0],
					c[1],
				)
			}
			r.count(tokens, next(tokens))
		}},
	}
}

// TestBills: one history, written in the order of each age of the client, gives one bill.
func TestBills(t *testing.T) {
	t.Parallel()
	patch := "*** Begin Patch\n*** Update File: a.go\n"
	for _, o := range orders() {
		t.Run(o.name, func(t *testing.T) {
			r := &rollout{}
			r.add("session_meta", `{"id":%q,"cli_version":"0.160.0","cwd":"/p"}`, idA)
			start := func() { r.event("task_started", `"turn_id":"t","turn_attribution":{"kind":"user"}`) }
			start()
			const asked = "find out why the reader loses the last line of a file"
			r.event("user_message", `"message":%q`, asked)
			o.reply(r, 10_000, [2]string{"cat a.go", "aaaa"}, [2]string{"sed -n '1,20p' sub/b.go", "bb"})
			o.reply(r, 20_000, [2]string{"go test ./...", "ok"}, [2]string{patch, "Done"})
			o.reply(r, 30_000)
			r.event("task_complete", `"turn_id":"t"`)
			start()
			compactedAt := r.ms + 3
			if r.ms++; o.old {
				r.count(30_100, 1<<20)
			} else {
				r.ms++
			}
			r.add("compacted", `{"message":"","window_id":"w2"}`)
			r.event("user_message", `"message":%q`, "Find out why the reader loses the last line of a file!")
			o.reply(r, 8_000, [2]string{"cat /p/a.go", "aaaa"}, [2]string{"head -n 20 new.go", "nnnn"})
			o.reply(r, 9_040, [2]string{"go test ./...", "ok"}, [2]string{patch, "Done"})
			o.reply(r, 9_080, [2]string{"nl -ba sub/b.go", "bb"})
			o.reply(r, 9_620)
			f := NewFold(transcript.File{Name: idA})
			f.KeepBills()
			for _, line := range r.lines {
				var e transcript.Entry
				if _, err := f.Line([]byte(line), len(line)+1, &e); err != nil {
					t.Fatal(err)
				}
			}
			list, done := f.Bills()
			if len(list) != 1 || len(done.Keys) != 5 || len(done.Prompts) != 2 {
				t.Fatalf("%d bills, %d keys, %d prompts", len(list), len(done.Keys), len(done.Prompts))
			}
			for i := range list[0].Files {
				list[0].Files[i].Key = 0
			}
			at := transcript.Instant(1795305600000+int64(compactedAt)) * 1e6
			want := transcript.Bill{
				Kind:     transcript.BilledCompaction,
				Key:      list[0].Key,
				At:       at,
				Trigger:  transcript.Auto,
				Before:   30_000,
				After:    8_000,
				Millis:   3,
				Replies:  4,
				Reads:    3,
				Rereads:  2,
				Bytes:    6,
				Tokens:   1_000,
				Reruns:   1,
				Reedits:  1,
				Restated: 1,
				Regrown:  2,
				Files: []transcript.Reread{{
					Name:   "a.go",
					Reads:  1,
					Tokens: 500,
				}, {
					Name:   "sub/b.go",
					Reads:  1,
					Tokens: 500,
				}},
			}
			if d := cmp.Diff(want, list[0]); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestFileRead(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"cat a.go": "a.go", "cat -n 'a b.go'": "a b.go", `sed -n "1,200p" x/y.go`: "x/y.go", "head -n 20 a": "a", "tail -50 a": "a", "nl -ba a": "a",
		"cat a.go b.go": "", "cat a.go | head": "", "cat $HOME/x": "", "cat *.go": "", "cat": "", "cat -": "", "cat 'a": "", "sed -i s/a/b/ f": "", "rg x a.go": "", "cd x && cat y": "",
		`cat "a$b"`: "", "cat ''": "",
	} {
		if got, ok := fileRead(command); ok != (want != "") && command != "cat ''" || ok && got != want {
			t.Errorf("%s: %q %v, want %q", command, got, ok, want)
		}
	}
}

func TestCallsOf(t *testing.T) {
	t.Parallel()
	type call struct {
		Tool transcript.Tool
		On   string
	}
	quoted := func(s string) string { return strings.Trim(fmt.Sprintf("%q", s), `"`) }
	read := transcript.ToolRead
	edit := transcript.ToolEdit
	run := transcript.ToolRun
	for _, c := range []struct {
		tool, input string
		want        []call
	}{
		{"shell", quoted(`{"command":["bash","-lc","cat a.go"],"workdir":"sub"}`), []call{{read, "/p/sub/a.go"}}},
		{"shell", quoted(`{"command":["git","diff"]}`), []call{{run, "git diff"}}},
		{
			"shell",
			quoted(`{"command":["apply_patch","*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: /q/b\n"]}`),
			[]call{{edit, "/p/a"}, {edit, "/q/b"}},
		},
		{"shell_command", quoted(`{"command":"make"}`), []call{{run, "make"}}},
		{
			"local_shell",
			`{"type":"exec","command":["bash","-lc","cat a"],"working_directory":"/w"}`,
			[]call{{read, "/w/a"}},
		},
		{"apply_patch", `*** Begin Patch\n*** Update File: a.go\n`, []call{{edit, "/p/a.go"}}},
		{
			"exec",
			`await x()`,
			nil,
		}, {
			"spawn_agent",
			quoted(`{"message":"x"}`),
			nil,
		}, {
			"shell",
			"x",
			nil,
		}, {
			"shell",
			quoted("{}"),
			nil,
		},
	} {
		var got []call
		for _, x := range callsOf(&record{kind: called, tool: []byte(c.tool), input: []byte(c.input)}, "/p") {
			got = append(got, call{x.Tool, string(x.On)})
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.tool, c.input, d)
		}
	}
}
