package main

import (
	"encoding/json"
	"errors"
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
	// pasteShows is how long a client takes to draw a paste, about as long as the real one:
	// sm presses Enter only then.
	pasteShows = 40 * time.Millisecond
)

// seatScreen is a simulated client in a pane that hands over in each turn with the real
// commands. After /clear it has another session, in the registry at once, and in a transcript
// at once or with its first prompt. Its journal has all events.
type seatScreen struct {
	*paneScreen
	journal *os.File
	docs    int
}

// event is a line of the journal.
type event struct {
	Kind string `json:"kind"` // called, scheduled, refused, pasted, entered, answer
	Text string `json:"text"` // text of the event
}

// seatClient is the process of a seatScreen.
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
	s.hooks = true
	s.command = func() *exec.Cmd { return exec.Command("sm", "hook") }
	s.begin = func() error { return s.submit("Begin.") }
	s.turn = s.obeys
	s.act = s.handsOver
	s.onAnswer = func(text string) { s.notes("answer", text) }
	s.pasted = func(text string) {
		s.notes("pasted", text)
		<-time.After(pasteShows)
	}
	s.main()
}

func journalOf(dir, agent string) string { return filepath.Join(dir, "journal-"+agent) }

// calm returns the file that ends handoffs.
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
		return s.submit(text)
	}
	_, ended := s.fire(hook.Payload{Event: hook.SessionEnd, Reason: "clear"})
	s.opens()
	err := errors.Join(ended, s.register("idle"))
	if rand.IntN(2) == 0 {
		err = errors.Join(err, s.prompts("<command-name>/clear</command-name>"))
	}
	_, began := s.fire(hook.Payload{Event: hook.SessionStart, Source: "clear"})
	return errors.Join(err, began)
}

// handsOver calls sm handoff until it is accepted: the observer may be down, or busy with the
// previous handoff.
func (s *seatScreen) handsOver() error {
	s.docs++
	doc := filepath.Join(
		s.home,
		fmt.Sprintf("%s-%d.md", os.Getenv("CLAUDE_SESSION_MANAGER_ID"), s.docs),
	)
	if err := os.WriteFile(doc, []byte("Next: look at CI.\n"), 0o600); err != nil {
		return err
	}
	s.notes("called", doc)
	for {
		if _, err := os.Stat(calm(s.home)); err == nil {
			return nil
		}
		cmd := exec.Command("sm", "handoff", doc)
		if out, err := cmd.CombinedOutput(); err == nil &&
			strings.HasPrefix(string(out), "Handoff scheduled") {
			s.notes("scheduled", doc)
			return nil
		} else {
			s.notes("refused", string(out))
		}
		<-time.After(50 * time.Millisecond)
	}
}
