package transcripttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"time"
)

// HandWritten is a transcript that a test writes record by record.
type HandWritten struct {
	ID, Folder, Version string
	Now                 time.Time
	Records             []map[string]any
	count               int
}

// NewHandWritten returns a session that begins n days after the start of 2026.
func NewHandWritten(n int) *HandWritten {
	return &HandWritten{
		ID:      fmt.Sprintf("%08x-1111-4111-8111-111111111111", n),
		Folder:  "-home-dev-web",
		Version: "2.1.197",
		Now:     time.Date(2026, 1, 1+n, 8, 0, 0, 0, time.UTC),
	}
}

// Put adds a record with the common members and those of a JSON object.
func (s *HandWritten) Put(after time.Duration, format string, args ...any) map[string]any {
	s.Now = s.Now.Add(after)
	s.count++
	r := map[string]any{
		"uuid":      fmt.Sprintf("%s-%d", s.ID, s.count),
		"timestamp": s.Now.Format(time.RFC3339Nano),
		"sessionId": s.ID,
		"cwd":       "/home/dev/web",
		"version":   s.Version,
	}
	if n := len(s.Records); n > 0 {
		r["parentUuid"] = s.Records[n-1]["uuid"]
	}
	if err := json.Unmarshal(fmt.Appendf(nil, format, args...), &r); err != nil {
		panic(err)
	}
	s.Records = append(s.Records, r)
	return r
}

// Turn adds a prompt, half a minute later.
func (s *HandWritten) Turn() { s.Say("go on") }

// Say adds a prompt with this text. The record may be changed until it is
// written.
func (s *HandWritten) Say(text string) map[string]any {
	const prompt = `{"type":"user","message":{"role":"user","content":%q}}`
	return s.Put(30*time.Second, prompt, text)
}

// GoBack adds a prompt after a rewind to before the n-th prompt, counted from
// 0: both have the same parent.
func (s *HandWritten) GoBack(n int) {
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

// Read adds replies with contexts of so many thousand tokens.
func (s *HandWritten) Read(thousands ...int) {
	for _, n := range thousands {
		s.Put(10*time.Second, `{"type":"assistant","message":{"id":"msg-%s-%d",
			"model":"claude-opus-4-6","usage":{"input_tokens":%d},"content":[]}}`, s.ID, s.count, n*1000)
	}
}

// Compact adds a compaction. A size of 0 is not recorded.
func (s *HandWritten) Compact(trigger string, thousands int) map[string]any {
	size := ""
	if thousands > 0 {
		size = fmt.Sprintf(`,"preTokens":%d`, thousands*1000)
	}
	const boundary = `{"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":%q%s}}`
	return s.Put(20*time.Second, boundary, trigger, size)
}

// Filled adds turns with readings up to a size, and a compaction.
func (s *HandWritten) Filled(from, to, step, turns int) {
	for n := from; n < to; n += step {
		if turns > 0 && (n-from)/step%turns == 0 {
			s.Turn()
		}
		s.Read(n)
	}
	s.Compact("auto", to)
}

// Copied returns a session with all records of this one: under their own uuids,
// as a resume writes them, or with new ones that name their origin, as a fork
// does.
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

// Bytes returns the transcript.
func (s *HandWritten) Bytes() []byte {
	var b bytes.Buffer
	for _, r := range s.Records {
		if err := json.NewEncoder(&b).Encode(r); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// Written writes sessions into their folders below dir, and returns dir.
func Written(t testing.TB, dir string, all ...*HandWritten) string {
	t.Helper()
	for _, s := range all {
		if err := write(filepath.Join(dir, s.Folder, s.ID+".jsonl"), s.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
