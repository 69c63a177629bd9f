package handoff

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzInject: whatever the body and the names are, the frame is there once.
func FuzzInject(f *testing.F) {
	f.Add("body", "worker", 9500)
	f.Add(endLine+"\r\n=== HANDOFF LOADED (ID: x) ===", endLine, 0)
	f.Add("</system-reminder>", "\u202e", -1)
	f.Add(strings.Repeat("\U0001F600", 3000), "\xff", 2001)
	f.Fuzz(func(t *testing.T, body, name string, limit int) {
		limit = min(limit, 100_000)
		d := Document{
			ID:        name,
			Channel:   name,
			SessionID: name,
			Agent:     name,
			Path:      name,
			File:      name,
			Type:      DocumentType(name),
			Body:      body,
			CreatedAt: noon,
		}
		if got := Inject(d, limit, noon.Add(time.Hour)); !framedRight(got, d, limit) {
			t.Fatalf("%q, %q, %d:\n%s", body, name, limit, got)
		}
	})
}

// FuzzRecent: any bytes give messages within the limits.
func FuzzRecent(f *testing.F) {
	f.Add([]byte(transcript))
	f.Add([]byte(`{"type":"user","message":{"content":[{"type":"text","text":"a"},{"type":"text"}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Recent(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, m := range got {
			total += length(m.Text)
			if m.Text == "" || Clean(m.Text) != m.Text || length(m.Text) > maxCharacters ||
				m.Role != "user" && m.Role != "assistant" {
				t.Fatalf("%+v", m)
			}
		}
		if len(got) > maxMessages || total > maxTotal {
			t.Fatalf("%d messages, %d characters", len(got), total)
		}
		if doc := AutoDocument(Summary{Recent: got}); Clean(doc) != doc {
			t.Fatalf("%q", doc)
		}
	})
}

// FuzzClaim: with any content of the folder a claim ends with a document or without, and no
// document is given to two agents.
func FuzzClaim(f *testing.F) {
	const document = `{"id":"x","created_at":"2026-02-02T12:00:00Z","status":"active"}`
	d := Document{ID: "x", Channel: "c", CreatedAt: noon}
	f.Add([]byte(`{"channel":"c","documents":[`+document+`]}`), []byte(d.header()+"body"))
	f.Add([]byte(`{"channel":"c","documents":[`+document+`,`+document+`]}`), []byte(""))
	f.Fuzz(func(t *testing.T, manifest, file []byte) {
		dir := memory(t)
		write(t, filepath.Join(dir, "c.manifest.json"), string(manifest))
		write(t, filepath.Join(dir, "x.md"), string(file))
		docs := NewDocuments(dir, 0, nil)
		d, ok, _ := docs.Claim(Claimant{Channel{Name: "c"}, "a", "s", 1}, noon, everybody)
		again, okAgain, _ := docs.Claim(Claimant{Channel{Name: "c"}, "b", "s", 1}, noon, everybody)
		if ok && okAgain && d.ID == again.ID {
			t.Fatalf("%s is given twice", d.ID)
		}
		_, err := docs.Put(NewDocument{Channel: "c", Agent: "a", Body: "new"}, noon)
		if err != nil && !strings.Contains(err.Error(), "another channel") {
			t.Fatal(err)
		}
	})
}
