//go:build realclient

package main_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// tell sends a message of another session to the client's inbox.
func (h *clientHome) tell(text string) {
	h.t.Helper()
	var entry struct {
		Socket string `json:"messagingSocketPath"`
	}
	registry := fmt.Sprintf("%s/.claude/sessions/%d", h.home, h.pid)
	readJSONFile(h.t, registry+".json", &entry)
	keys, _ := filepath.Glob(registry + ".*.key")
	if len(keys) != 1 {
		h.t.Fatalf("%d keys of the inbox, want 1", len(keys))
	}
	var key struct {
		Token string `json:"peerToken"`
	}
	readJSONFile(h.t, keys[0], &key)

	inbox, err := net.Dial("unix", entry.Socket)
	if err != nil {
		h.t.Fatal(err)
	}
	defer inbox.Close()
	if err := inbox.SetDeadline(time.Now().Add(patience)); err != nil {
		h.t.Fatal(err)
	}
	enc := json.NewEncoder(inbox)
	for _, line := range []any{
		map[string]string{"type": "auth", "token": key.Token},
		map[string]any{
			"msgV":     1,
			"msg_id":   fmt.Sprintf("00000000-0000-4000-8000-%012x", time.Now().UnixMicro()&(1<<48-1)),
			"type":     "user",
			"message":  map[string]string{"role": "user", "content": text},
			"priority": "next",
		},
	} {
		if err := enc.Encode(line); err != nil {
			h.t.Fatal(err)
		}
	}
}

func readJSONFile(t *testing.T, path string, v any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// TestRealClientPeerMessages: a message of another session begins a turn, unless one
// is open already.
func TestRealClientPeerMessages(t *testing.T) {
	r := newVersionRun(t, buildProgram(t, t.TempDir()), newestClient)
	r.home.extra = append(r.home.extra, "XDG_RUNTIME_DIR="+r.home.dir)
	r.sm.start()
	session := r.home.start().SessionID
	r.stub.resize(20_000)

	turns := func(what string, want int) {
		t.Helper()
		eventually(t, what, func() string {
			if busy := r.home.busy(); busy != "" {
				return busy
			}
			if got := r.sm.sessions()[session].Turns; got != want {
				return fmt.Sprintf("%d turns, want %d", got, want)
			}
			return ""
		})
	}
	message := func(text string) {
		t.Helper()
		r.home.before = r.home.turns()
		r.home.tell(text)
	}

	message("Hello.")
	turns("a message begins a turn", 1)

	r.stub.script(modelStep{grow: 100, tools: 1, bash: "sleep 3"}, modelStep{grow: 100})
	r.home.say("Go on.")
	eventually(t, "the tool runs", func() string {
		if _, left, _ := r.stub.said(); left > 1 {
			return fmt.Sprintf("%d answers are planned", left)
		}
		return ""
	})
	r.home.tell("During the turn.")
	turns("a message during a turn begins none", 2)

	message("Once more.")
	turns("a message after it begins one", 3)

	if got := r.sm.scan()[session].Turns; got != 3 {
		t.Errorf("sm scan: %d turns, want 3", got)
	}
	knownNames(t, r.home.projects)
}
