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

// hearing is one text of sm's that a transcript shows to have reached an agent.
type hearing struct {
	id, text, kind, event, session string
	cycle                          int // of its file, by the boundaries before it
	side                           bool
}

// transcriptRecord is what is read of a transcript's line, with nothing of ours.
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

// heard reads all transcripts. What a fork copied counts where it was first.
func (r *policyRun) heard() (all []hearing) {
	r.t.Helper()
	seen := map[string]bool{}
	for _, path := range transcripts(r.t, r.home.projects) {
		text, err := os.ReadFile(path)
		if err != nil {
			r.t.Fatal(err)
		}
		h := hearing{session: strings.TrimSuffix(filepath.Base(path), ".jsonl"), cycle: 1}
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
				r.t.Errorf("%s: not as it always was: %s", path, line)
			}
			for _, h.text = range parts {
				if strings.HasPrefix(h.text, "=== HANDOFF LOADED (ID: ") {
					continue // a document, which has no id of a message
				}
				if _, called := outbox.Called(h.text); called {
					continue // it has no text; what its hook was answered has
				}
				id := endingID.FindStringSubmatch(h.text)
				if !strings.HasPrefix(h.text, "[sm ") || id == nil {
					r.t.Errorf("%s: not a text of ours: %q", path, h.text)
					continue
				}
				h.id, h.kind, h.side = id[1], kindOf(h.text), rec.Side
				all = append(all, h)
			}
		}
	}
	return all
}

// transcripts lists all, in the order of their making.
func transcripts(t *testing.T, projects string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(projects, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".jsonl" {
			files = append(files, path)
		}
		return nil // a folder may come and go
	})
	if err != nil {
		t.Fatal(err)
	}
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

// tally counts what was heard so far: by session, in the order in which the
// client was in them, cycle and kind, as "a1 warning".
func (r *policyRun) tally() map[string]int {
	count := map[string]int{}
	for _, h := range r.heard() {
		i := slices.Index(r.sessions, h.session)
		if i < 0 || h.side {
			r.t.Errorf("heard by another than the agent: %+v", h)
		}
		count[fmt.Sprintf("%c%d %s", 'a'+i, h.cycle, h.kind)]++
	}
	return count
}

// kinds counts messages by kind.
func (r *policyRun) kinds() map[string]int {
	count := map[string]int{}
	for _, h := range r.heard() {
		count[h.kind]++
	}
	return count
}

// once compares the messages with the expected ones: each once, and no others.
// The model got all of them.
func (r *policyRun) once(what string, want ...string) {
	r.t.Helper()
	all := map[string]int{}
	for _, w := range want {
		all[w] = 1
	}
	if diff := cmp.Diff(all, r.tally()); diff != "" {
		r.t.Errorf("%s: what was heard (-want +got):\n%s", what, diff)
	}
	for _, h := range r.heard() {
		if !r.stub.toldOf(h.id) {
			r.t.Errorf("%s: the model was never told of %+v", what, h)
		}
		if m, ok := r.message(h.id); !ok || m.Status != "confirmed" || m.Via != "hook" {
			r.t.Errorf("%s: heard, and in the queue %+v", what, m)
		}
	}
}

// messageID ends each message of sm.
var messageID = regexp.MustCompile(`\[sm [^"]*? #([0-9a-f]{6})\b`)

// hear records which messages the model gets.
func (s *modelStub) hear(q *modelRequest) {
	for _, m := range q.Messages {
		for _, id := range messageID.FindAllSubmatch(m.Content, -1) {
			if _, called := outbox.Called(string(id[0])); !called {
				s.told[string(id[1])] = true
			}
		}
	}
}

func (s *modelStub) toldOf(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told[id]
}
