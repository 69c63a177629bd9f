package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sm/cmd/internal/hooks"
	"sm/transcript/claude/hook"
)

const (
	heirName = "sm-heir"
	// heirRegistry is the variable with what becomes of a heir's entry in the registry.
	heirRegistry = "SM_TEST_REGISTRY"
	// registryRounds is how often a client is restarted by default.
	registryRounds = 3
)

// heirs are the ways in which clients treat their entry in the registry: after the signal to end, they live on for a
// time before the entry is removed, and for a time after that.
var heirs = map[string]struct{ before, after time.Duration }{
	"no file":       {after: 300 * time.Millisecond},
	"removed early": {after: 900 * time.Millisecond},
	"removed late":  {before: 300 * time.Millisecond},
	"left":          {before: 300 * time.Millisecond},
}

// heirClient is a client that `sm run` restarts: in its one turn, begun by the prompt in its arguments, it hands over. The
// journal of its agent has all events.
func heirClient() {
	s, err := newHeir()
	if err == nil {
		err = s.live(os.Args[len(os.Args)-1])
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

type heir struct {
	*seatScreen
	way  string
	term chan os.Signal
}

func newHeir() (*heir, error) {
	s := &heir{&seatScreen{
		paneScreen: newPaneScreen(),
		docs:       100 * os.Getpid(),
	}, os.Getenv(heirRegistry), make(chan os.Signal, 1)}
	signal.Notify(s.term, syscall.SIGTERM)
	s.unlisted = s.way == "no file"
	s.session = fmt.Sprintf("%08x-0000-4000-8000-%012x", rand.Uint32(), rand.Uint64()>>16)
	s.path = filepath.Join(filepath.Dir(s.path), s.session+".jsonl")
	err := os.Setenv("CLAUDE_PID", strconv.Itoa(os.Getpid()))
	s.origin = (&environ{Process: hooks.Process{LookupEnv: os.LookupEnv}}).caller().Origin(time.Now())
	if err == nil {
		s.journal, err = os.OpenFile(journalOf(s.home, s.origin.Agent), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	return s, err
}

// live is a turn and the wait for the end.
func (s *heir) live(prompt string) error {
	s.notes("entered", prompt)
	if err := s.register("busy"); err != nil {
		return err
	}
	s.runs(hook.Payload{Event: hook.SessionStart, Source: "startup"})
	if err := s.works(prompt); err != nil {
		return err
	}
	<-s.term
	if rand.IntN(2) == 0 {
		s.runs(hook.Payload{Event: hook.SessionEnd, Reason: "other"})
	}
	pace := heirs[s.way]
	<-time.After(pace.before)
	if s.way == "removed early" || s.way == "removed late" {
		if err := os.Remove(filepath.Join(s.home, "sessions", strconv.Itoa(os.Getpid())+".json")); err != nil {
			return err
		}
	}
	<-time.After(pace.after)
	os.Exit(128 + int(syscall.SIGTERM))
	return nil
}

// journalEvents reads the journal of an agent.
func journalEvents(t *testing.T, path string) (all []event) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil { // the last may not be whole yet
			all = append(all, e)
		}
	}
	return all
}

// TestRunRegistry: a client that hands over in each of its turns is restarted by `sm run`, and whatever the client does
// with its entry in the registry each handoff is confirmed, and its document is named by one prompt and given by no
// hook. SM_ROUNDS_REGISTRY says how often.
func TestRunRegistry(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	if !isDir("/proc/self") {
		t.Skip("needs /proc")
	}
	rounds := killsOf(t, "SM_ROUNDS_REGISTRY", registryRounds)
	for way := range heirs {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			d := newDaemon(t)
			d.vars = append(
				d.vars,
				"SM_HANDOFF_BREAKER_COUNT=100000",
				"SM_SUPERVISE_RESTARTS=100000",
				paneHome+"="+d.dir,
				heirRegistry+"="+way,
			)
			d.start()
			run := d.command("run", "--name", "heir", "--", heirName, "Begin.")
			run.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			run.WaitDelay = time.Second
			var out bytes.Buffer
			run.Stderr = &out
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			ended := false
			end := func() {
				if !ended {
					ended = true
					_ = run.Process.Signal(syscall.SIGTERM) // it runs
					_ = run.Wait()                          // by that signal
				}
			}
			t.Cleanup(end)
			d.judgeHeirs(t, rounds)
			end()
			if t.Failed() {
				t.Log(&out)
			}
		})
	}
}

func (d *daemon) judgeHeirs(t *testing.T, rounds int) {
	t.Helper()
	count := func(text string) int { return strings.Count(d.log(1<<30), text) }
	const confirmed, failed = `msg="handoff confirmed"`, `msg="handoff failed"`
	d.within(time.Duration(rounds+2)*30*time.Second, "all rounds", func() string {
		if n := count(confirmed) + count(failed); n < rounds {
			return fmt.Sprintf("%d rounds of %d have ended", n, rounds)
		}
		return ""
	})
	if err := os.WriteFile(calm(d.dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var scheduled, entered []string
	loaded := 0
	d.within(time.Minute, "the last round", func() string {
		scheduled = nil
		entered = nil
		loaded = 0
		for _, e := range journalEvents(t, journalOf(d.dir, "heir")) {
			switch {
			case e.Kind == "scheduled":
				scheduled = append(scheduled, e.Text)
			case e.Kind == "entered":
				entered = append(entered, e.Text)
			case strings.Contains(e.Text, "HANDOFF LOADED"):
				loaded++
			}
		}
		if n := count(confirmed) + count(failed); n < len(scheduled) {
			return fmt.Sprintf("%d rounds of %d have ended", n, len(scheduled))
		}
		return ""
	})
	t.Logf(
		"%d handoffs: %d confirmed, %d failed; %d prompts, %d documents given besides",
		len(scheduled),
		count(confirmed),
		count(failed),
		len(entered)-1,
		loaded,
	)
	if n := count(confirmed); n != len(scheduled) || count(failed) != 0 {
		t.Errorf("of %d handoffs %d were confirmed and %d reported as failed", len(scheduled), n, count(failed))
	}
	want := []string{"Begin."}
	for _, doc := range scheduled {
		want = append(want, "Read "+doc+" and continue from where you left off.")
	}
	if strings.Join(want, "\n") != strings.Join(entered, "\n") || loaded > 0 {
		t.Errorf("%d documents were given besides; the prompts are %q, want %q", loaded, entered, want)
	}
}
