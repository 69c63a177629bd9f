package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sm/transcript/claude/hook"
)

const (
	seatName = "sm-seat"
	// pasteShows is how long a seat takes to draw what was pasted, about as long as the
	// client: only then sm presses Enter.
	pasteShows = 40 * time.Millisecond
)

// seatScreen is a client in a pane that hands over in each of its turns, by the real commands, and
// obeys /clear: another session, in the registry at once, in a transcript at once or with
// its first prompt. Its journal has all events.
type seatScreen struct {
	*paneScreen
	journal *os.File
	docs    int
}

// event is a line of a seat's journal.
type event struct {
	Kind string `json:"kind"` // called, scheduled, pasted, entered, told
	Text string `json:"text"` // told: after the hook's event
}

// seatClient is its process.
func seatClient() {
	s := &seatScreen{paneScreen: newPaneScreen()}
	var err error
	if s.journal, err = os.OpenFile(
		journalOf(s.home, os.Getenv("CLAUDE_SESSION_MANAGER_ID")),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY,
		0o600,
	); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.begin = func() error { return s.works("Begin.") }
	s.turn = s.obeys
	s.pasted = func(text string) {
		s.notes("pasted", text)
		<-time.After(pasteShows)
	}
	s.main()
}

func journalOf(dir, agent string) string { return filepath.Join(dir, "journal-"+agent) }

// calm is the file that lets seats hand over no more.
func calm(dir string) string { return filepath.Join(dir, "calm") }

func (s *seatScreen) notes(kind, text string) {
	line, err := json.Marshal(event{kind, text})
	if err == nil {
		_, err = s.journal.Write(append(line, '\n'))
	}
	if err != nil {
		panic(err)
	}
}

func (s *seatScreen) obeys(text string) error {
	s.notes("entered", text)
	if text != "/clear" {
		return s.works(text)
	}
	s.runs(hook.Payload{Event: hook.SessionEnd, Reason: "clear"})
	s.session = fmt.Sprintf("%08x-0000-4000-8000-%012x", rand.Uint32(), rand.Uint64()>>16)
	s.path = filepath.Join(filepath.Dir(s.path), s.session+".jsonl")
	if err := s.register("idle"); err != nil {
		return err
	}
	if rand.IntN(2) == 0 {
		if err := s.write(`"type":"user","message":{"role":"user","content":"<command-name>/clear</command-name>"}`); err != nil {
			return err
		}
	}
	s.runs(hook.Payload{Event: hook.SessionStart, Source: "clear"})
	return nil
}

// works is a turn, with a handoff as its last act.
func (s *seatScreen) works(text string) error {
	content, err := json.Marshal(text)
	if err != nil {
		return err
	}
	if err := s.register("busy"); err != nil {
		return err
	}
	s.runs(hook.Payload{Event: hook.UserPromptSubmit, Prompt: text})
	if err := s.write(`"type":"user","message":{"role":"user","content":%s}`, content); err != nil {
		return err
	}
	if err := s.reply(); err != nil {
		return err
	}
	if err := s.handsOver(); err != nil {
		return err
	}
	for active := false; s.runs(hook.Payload{Event: hook.Stop, StopHookActive: active}); active = true {
		if err := s.reply(); err != nil {
			return err
		}
	}
	if err := s.write(`"type":"system","subtype":"turn_duration","durationMs":50`); err != nil {
		return err
	}
	return s.register("idle")
}

// handsOver calls sm handoff until it is accepted: the observer may be gone, or not done with
// the last one.
func (s *seatScreen) handsOver() error {
	s.docs++
	doc := filepath.Join(s.home, fmt.Sprintf("%s-%d.md", os.Getenv("CLAUDE_SESSION_MANAGER_ID"), s.docs))
	if err := os.WriteFile(doc, []byte("Next: look at CI.\n"), 0o600); err != nil {
		return err
	}
	s.notes("called", doc)
	for {
		if _, err := os.Stat(calm(s.home)); err == nil {
			return nil
		}
		cmd := exec.Command("sm", "handoff", doc)
		if out, err := cmd.CombinedOutput(); err == nil && strings.HasPrefix(string(out), "Handoff scheduled") {
			s.notes("scheduled", doc)
			return nil
		} else {
			s.notes("refused", string(out))
		}
		<-time.After(50 * time.Millisecond)
	}
}

// runs runs a hook as the client does, and reports whether its answer had a message.
func (s *seatScreen) runs(p hook.Payload) bool {
	p.SessionID = s.session
	p.TranscriptPath = s.path
	p.CWD = "/home/dev/web"
	cmd := exec.Command("sm", "hook")
	cmd.Stdin = bytes.NewReader(p.Encode())
	out, _ := cmd.Output() // without an observer it says nothing
	var a struct {
		Output struct {
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if json.Unmarshal(out, &a) != nil || a.Output.Context == "" {
		return false
	}
	s.notes("told", a.Output.Context)
	content, err := json.Marshal([]string{a.Output.Context})
	if err == nil {
		err = s.write(
			`"type":"attachment","attachment":{"type":"hook_additional_context","content":%s,"hookEvent":"%s"}`,
			content,
			p.Event,
		)
	}
	return err == nil
}
