package transcripttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// HandWritten writes transcripts by hand, record for record.
type HandWritten struct {
	ID, Folder, Version string
	Now                 time.Time
	Records             []map[string]any
	count               int
}

// NewHandWritten begins a session; n tells it from others and says how many days after 2026 began.
func NewHandWritten(n int) *HandWritten {
	return &HandWritten{
		ID:      fmt.Sprintf("%08x-1111-4111-8111-111111111111", n),
		Folder:  "-home-dev-web",
		Version: "2.1.197",
		Now:     time.Date(2026, 1, 1+n, 8, 0, 0, 0, time.UTC),
	}
}

func (s *HandWritten) put(
	kind string,
	after time.Duration,
	members map[string]any,
) map[string]any {
	s.Now = s.Now.Add(after)
	s.count++
	r := map[string]any{"type": kind, "uuid": fmt.Sprintf(
		"%s-%d",
		s.ID,
		s.count,
	), "timestamp": s.Now.Format(time.RFC3339Nano),
		"sessionId": s.ID, "cwd": "/home/dev/web", "version": s.Version}
	maps.Copy(r, members)
	s.Records = append(s.Records, r)
	return r
}

// Turn is a prompt, half a minute later.
func (s *HandWritten) Turn() { s.Say("go on") }

// Say is a prompt with this text. The record may be changed until it is written.
func (s *HandWritten) Say(text string) map[string]any {
	return s.put(
		"user",
		30*time.Second,
		map[string]any{"message": map[string]any{"role": "user", "content": text}},
	)
}

// GoBack is a prompt after a rewind to before the n-th prompt, counted from 0: it stands behind the record that that one
// stands behind. All records of the session are chained to the one before them, as clients do.
func (s *HandWritten) GoBack(n int) {
	for i, r := range s.Records {
		if _, chained := r["parentUuid"]; !chained && i > 0 {
			r["parentUuid"] = s.Records[i-1]["uuid"]
		}
	}
	for _, r := range s.Records {
		if r["type"] != "user" {
			continue
		}
		if n == 0 {
			s.Say("go on from here")["parentUuid"] = r["parentUuid"]
			return
		}
		n--
	}
}

// Rewound is a session that was rewound to some of its prompts and compacted now and then; n decides when.
func Rewound(n int) *HandWritten {
	s := NewHandWritten(n)
	random := rand.New(rand.NewPCG(uint64(n), 7))
	prompts := 0
	size := 20
	for range 20 + random.IntN(60) {
		switch move := random.IntN(12); {
		case size > 140 || move == 0 && size > 40:
			s.Compact("auto", size)
			size = 20
		case (move == 1 || size > 100 && move == 2) && prompts > 2:
			s.GoBack(1 + random.IntN(prompts-1))
			size = max(20, size-random.IntN(80))
			prompts++
		case move < 5:
			s.Turn()
			prompts++
		}
		s.Read(size)
		size += random.IntN(25)
	}
	s.GoBack(0)
	return s
}

// Read is a reply of so many thousand tokens.
func (s *HandWritten) Read(thousands ...int) {
	for _, n := range thousands {
		s.put("assistant", 10*time.Second, map[string]any{"message": map[string]any{"id": fmt.Sprintf(
			"msg-%s-%d",
			s.ID,
			s.count,
		), "model": "claude-opus-4-6",
			"usage": map[string]any{"input_tokens": n * 1000}}})
	}
}

// Work is a reply of so many tokens that reads files, a line each, with their results.
func (s *HandWritten) Work(tokens int, files ...string) {
	id := fmt.Sprintf("msg-%s-%d", s.ID, s.count)
	for _, name := range files {
		call := fmt.Sprintf("toolu-%s-%d", s.ID, s.count)
		s.put("assistant", time.Second, map[string]any{"message": map[string]any{"id": id, "model": "claude-opus-4-6", "usage": map[string]any{"input_tokens": tokens},
			"content": []any{map[string]any{
				"type":  "tool_use",
				"id":    call,
				"name":  "Read",
				"input": map[string]any{"file_path": name},
			}}}})
		s.put(
			"user",
			time.Second,
			map[string]any{"message": map[string]any{
				"role": "user",
				"content": []any{map[string]any{
					"type":        "tool_result",
					"tool_use_id": call,
					"content":     "what stands there",
				}},
			}},
		)
	}
}

// Compact is a compaction; a size of 0 is not told.
func (s *HandWritten) Compact(trigger string, thousands int) map[string]any {
	m := map[string]any{"trigger": trigger}
	if thousands > 0 {
		m["preTokens"] = thousands * 1000
	}
	return s.put(
		"system",
		20*time.Second,
		map[string]any{"subtype": "compact_boundary", "compactMetadata": m},
	)
}

// Summary is what a new file begins with after a compaction in early clients.
func (s *HandWritten) Summary() {
	s.put(
		"user",
		10*time.Second,
		map[string]any{
			"isCompactSummary": true,
			"message": map[string]any{
				"role":    "user",
				"content": "What was done: " + s.ID,
			},
		},
	)
}

// Filled are turns of readings up to a size, the compaction, and the first reading after it.
func (s *HandWritten) Filled(from, to, step, turns int) {
	for n := from; n < to; n += step {
		if turns > 0 && (n-from)/step%turns == 0 {
			s.Turn()
		}
		s.Read(n)
	}
	s.Compact("auto", to)
}

// Copied begins a session that has all records of this one under their own uuids, as a resume writes them, or with new
// ones and where they are from, as a fork does.
func (s *HandWritten) Copied(n int, named bool) *HandWritten {
	c := NewHandWritten(n)
	c.Now = s.Now.Add(time.Minute)
	for _, r := range s.Records {
		r = maps.Clone(r)
		r["sessionId"] = c.ID
		if named {
			c.count++
			r["forkedFrom"] = map[string]any{"sessionId": s.ID, "messageUuid": r["uuid"]}
			r["uuid"] = fmt.Sprintf("%s-%d", c.ID, c.count)
		}
		c.Records = append(c.Records, r)
	}
	return c
}

// Bytes is the transcript.
func (s *HandWritten) Bytes() []byte {
	var b bytes.Buffer
	for _, r := range s.Records {
		line, err := json.Marshal(r)
		if err != nil {
			panic(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

// Written writes sessions into their folders below dir, and returns dir.
func Written(t interface {
	Helper()
	Fatal(args ...any)
}, dir string, all ...*HandWritten) string {
	t.Helper()
	for _, s := range all {
		path := filepath.Join(dir, s.Folder, s.ID+".jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, s.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
