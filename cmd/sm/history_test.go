package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// handWritten writes transcripts by hand, record for record.
type handWritten struct {
	id, folder, version string
	now                 time.Time
	records             []map[string]any
	count               int
}

// newScript begins a session; n tells it from others and says how many days after 2026 began.
func newScript(n int) *handWritten {
	return &handWritten{id: fmt.Sprintf("%08x-1111-4111-8111-111111111111", n), folder: "-home-dev-web", version: "2.1.197",
		now: time.Date(2026, 1, 1+n, 8, 0, 0, 0, time.UTC)}
}

func (s *handWritten) put(kind string, after time.Duration, members map[string]any) map[string]any {
	s.now = s.now.Add(after)
	s.count++
	r := map[string]any{"type": kind, "uuid": fmt.Sprintf("%s-%d", s.id, s.count), "timestamp": s.now.Format(time.RFC3339Nano),
		"sessionId": s.id, "cwd": "/home/dev/web", "version": s.version}
	maps.Copy(r, members)
	s.records = append(s.records, r)
	return r
}

func (s *handWritten) turn() { s.say("go on") }

func (s *handWritten) say(text string) map[string]any {
	return s.put("user", 30*time.Second, map[string]any{"message": map[string]any{"role": "user", "content": text}})
}

// read is a reply of so many thousand tokens.
func (s *handWritten) read(thousands ...int) {
	for _, n := range thousands {
		s.put("assistant", 10*time.Second, map[string]any{"message": map[string]any{"id": fmt.Sprintf("msg-%s-%d", s.id, s.count), "model": "claude-opus-4-6",
			"usage": map[string]any{"input_tokens": n * 1000}}})
	}
}

// compact is a compaction; a size of 0 is not told.
func (s *handWritten) compact(trigger string, thousands int) map[string]any {
	m := map[string]any{"trigger": trigger}
	if thousands > 0 {
		m["preTokens"] = thousands * 1000
	}
	return s.put("system", 20*time.Second, map[string]any{"subtype": "compact_boundary", "compactMetadata": m})
}

// summary is what a new file begins with after a compaction in early clients.
func (s *handWritten) summary() {
	s.put("user", 10*time.Second, map[string]any{"isCompactSummary": true, "message": map[string]any{"role": "user", "content": "What was done: " + s.id}})
}

// filled are turns of readings up to a size, the compaction, and the first reading after it.
func (s *handWritten) filled(from, to, step, turns int) {
	for n := from; n < to; n += step {
		if turns > 0 && (n-from)/step%turns == 0 {
			s.turn()
		}
		s.read(n)
	}
	s.compact("auto", to)
}

// copied begins a session that has all records of this one under their own uuids, as a resume writes them, or with new
// ones and where they are from, as a fork does.
func (s *handWritten) copied(n int, named bool) *handWritten {
	c := newScript(n)
	c.now = s.now.Add(time.Minute)
	for _, r := range s.records {
		r = maps.Clone(r)
		r["sessionId"] = c.id
		if named {
			c.count++
			r["forkedFrom"] = map[string]any{"sessionId": s.id, "messageUuid": r["uuid"]}
			r["uuid"] = fmt.Sprintf("%s-%d", c.id, c.count)
		}
		c.records = append(c.records, r)
	}
	return c
}

func (s *handWritten) bytes() []byte {
	var b bytes.Buffer
	for _, r := range s.records {
		line, err := json.Marshal(r)
		if err != nil {
			panic(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

// written puts sessions into a folder.
func written(t *testing.T, dir string, all ...*handWritten) string {
	t.Helper()
	for _, s := range all {
		place(t, filepath.Join(dir, s.folder, s.id+".jsonl"), s.bytes())
	}
	return dir
}

// gridOf is what a grid says of a folder.
func gridOf(t *testing.T, args ...string) (g grid) {
	t.Helper()
	if err := json.Unmarshal(output(t, append([]string{"replay", "--grid", "--json"}, args...)...), &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// plainEnvironment takes from a test what the machine says of locale, folders and configuration.
func plainEnvironment(t *testing.T) {
	t.Helper()
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		for _, prefix := range []string{"LC_", "LANG", "XDG_", "SM_", "CLAUDE_CONFIG_DIR"} {
			if strings.HasPrefix(name, prefix) {
				t.Setenv(name, "") // so that it comes back
				os.Unsetenv(name)
			}
		}
	}
	t.Setenv("HOME", t.TempDir())
}
