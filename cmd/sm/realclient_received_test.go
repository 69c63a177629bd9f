//go:build realclient

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/alerts/outbox"
)

// receivedText is a text of sm that a transcript shows as received by an agent.
type receivedText struct {
	id, text, kind, event, session string
	cycle                          int // of its file, by the boundaries before it
	side                           bool
}

// transcriptRecord has the fields that are read of a transcript's line, without code of sm.
type transcriptRecord struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	UUID    string `json:"uuid"`
	Side    bool   `json:"isSidechain"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Attachment struct {
		Type    string          `json:"type"`
		Event   string          `json:"hookEvent"`
		Content json.RawMessage `json:"content"`
	} `json:"attachment"`
}

var endingID = regexp.MustCompile(` #([0-9a-f]{6})$`)

// received reads all transcripts. Records that a fork copied count where they were first.
func (r *policyRun) received() (all []receivedText) {
	r.t.Helper()
	seen := map[string]bool{}
	for _, path := range transcripts(r.t, r.home.projects) {
		text := readFile(r.t, path)
		h := receivedText{session: strings.TrimSuffix(filepath.Base(path), ".jsonl"), cycle: 1}
		for line := range bytes.Lines(text) {
			var rec transcriptRecord
			if json.Unmarshal(line, &rec) != nil || seen[rec.UUID] && rec.UUID != "" {
				continue
			}
			seen[rec.UUID] = true
			if rec.Subtype == "compact_boundary" {
				h.cycle++
			}
			var parts []string
			var err error
			switch {
			case rec.Attachment.Type == "hook_additional_context":
				err = json.Unmarshal(rec.Attachment.Content, &parts)
				h.event = rec.Attachment.Event
			case rec.Type == "user" && bytes.HasPrefix(rec.Message.Content, []byte(`"[sm `)):
				parts = make([]string, 1)
				err = json.Unmarshal(rec.Message.Content, &parts[0])
				h.event = "prompt"
			}
			if err != nil {
				r.t.Errorf("%s: unexpected record: %s", path, line)
			}
			for _, h.text = range parts {
				if strings.HasPrefix(h.text, "=== HANDOFF LOADED (ID: ") {
					continue // a document has no message id
				}
				if _, called := outbox.Called(h.text); called {
					continue // a call has no text; the answer of its hook has
				}
				id := endingID.FindStringSubmatch(h.text)
				if !strings.HasPrefix(h.text, "[sm ") || id == nil {
					r.t.Errorf("%s: not a text of sm: %q", path, h.text)
					continue
				}
				h.id, h.kind, h.side = id[1], kindOf(h.text), rec.Side
				all = append(all, h)
			}
		}
	}
	return all
}

// transcripts lists all transcripts by the time of their first record.
func transcripts(t *testing.T, projects string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(projects, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".jsonl" {
			files = append(files, path)
		}
		return nil // a folder may come and go
	})
	noErrors(t, err)
	born := func(path string) string { // the first time of day in it
		data, _ := os.ReadFile(path)
		_, rest, _ := bytes.Cut(data, []byte(`"timestamp":"`))
		return string(rest[:min(len(rest), 24)])
	}
	slices.SortStableFunc(
		files,
		func(a, b string) int { return strings.Compare(born(a), born(b)) },
	)
	return files
}

func kindOf(text string) string {
	switch {
	case strings.Contains(text, "critically high"):
		return "critical"
	case strings.Contains(text, "A good time to write"):
		return "warning"
	}
	return "send"
}

// tally counts the texts received so far by session, in the order in which the client was in
// them, cycle and kind, as "a1 warning".
func (r *policyRun) tally() map[string]int {
	count := map[string]int{}
	for _, h := range r.received() {
		i := slices.Index(r.sessions, h.session)
		if i < 0 || h.side {
			r.t.Errorf("received by another agent: %+v", h)
		}
		count[fmt.Sprintf("%c%d %s", 'a'+i, h.cycle, h.kind)]++
	}
	return count
}

// kinds counts messages by kind.
func (r *policyRun) kinds() map[string]int {
	count := map[string]int{}
	for _, h := range r.received() {
		count[h.kind]++
	}
	return count
}

// once checks that exactly these messages were received, each once, and that the model got
// all of them.
func (r *policyRun) once(what string, want ...string) {
	r.t.Helper()
	all := map[string]int{}
	for _, w := range want {
		all[w] = 1
	}
	if diff := cmp.Diff(all, r.tally()); diff != "" {
		r.t.Errorf("%s: received texts (-want +got):\n%s", what, diff)
	}
	for _, h := range r.received() {
		if !r.stub.gotMessage(h.id) {
			r.t.Errorf("%s: the model did not get %+v", what, h)
		}
		if m, ok := r.message(h.id); !ok || m.Status != "confirmed" || m.Via != "hook" {
			r.t.Errorf("%s: received; the queue has %+v", what, m)
		}
	}
}

// messageID ends each message of sm.
var messageID = regexp.MustCompile(`\[sm [^"]*? #([0-9a-f]{6})\b`)

// noteMessages records the messages in a request to the model.
func (s *modelStub) noteMessages(q *modelRequest) {
	for _, m := range q.Messages {
		for _, id := range messageID.FindAllSubmatch(m.Content, -1) {
			if _, called := outbox.Called(string(id[0])); !called {
				s.delivered[string(id[1])] = true
			}
		}
	}
}

func (s *modelStub) gotMessage(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delivered[id]
}
