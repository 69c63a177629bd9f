package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"sm/observer/api"
)

// queueClient simulates a Codex client: it has an open thread and takes messages from its
// queue as prompts after a moment.
type queueClient struct {
	t          *testing.T
	home, path string
	taken      int // lines of the queue
	n          int
}

const queueThread = "01a200a2-c691-7de0-a325-4ece90591c2c"

func newQueueClient(t *testing.T, home string) *queueClient {
	t.Helper()
	c := &queueClient{t: t, home: home}
	c.path = filepath.Join(
		home,
		"sessions",
		"2026",
		"05",
		"01",
		"rollout-2026-05-01T12-00-00-"+queueThread+".jsonl",
	)
	lock := filepath.Join(home, "thread-writer-locks", queueThread+".lock")
	for _, path := range []string{c.path, lock} {
		noErrors(t, os.MkdirAll(filepath.Dir(path), 0o700))
	}
	f, err := os.Create(lock)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	noErrors(t, err)
	t.Cleanup(func() { f.Close() })
	c.record(
		"session_meta",
		`{"id":%q,"cwd":"/home/dev/api","cli_version":"0.169.0"}`,
		queueThread,
	)
	c.record("turn_context", `{"model":"gpt-6-sol"}`)
	c.prompt("Go on.", "user")
	return c
}

func (c *queueClient) record(kind, payload string, args ...any) {
	f, err := os.OpenFile(c.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		c.t.Error(err)
		return
	}
	defer f.Close()
	fmt.Fprintf(
		f,
		`{"timestamp":%q,"type":%q,"payload":%s}`+"\n",
		time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		kind,
		fmt.Sprintf(payload, args...),
	)
}

// prompt adds a turn.
func (c *queueClient) prompt(text, trigger string) {
	c.n++
	quoted, _ := json.Marshal(text)
	c.record(
		"event_msg",
		`{"type":"task_started","turn_id":"t%d","turn_attribution":{"turn_trigger":%q}}`,
		c.n,
		trigger,
	)
	c.record(
		"event_msg",
		`{"type":"item_completed","item":{"type":"UserMessage","id":"u%d","content":[{"type":"text","text":%s}]}}`,
		c.n,
		quoted,
	)
	c.record(
		"event_msg",
		`{"type":"task_complete","turn_id":"t%d","last_agent_message":"Well."}`,
		c.n,
	)
}

// wrote reports whether a file of the client's home contains a message.
func (c *queueClient) wrote(file, id string) bool {
	text, _ := os.ReadFile(filepath.Join(c.home, file)) // none yet
	return bytes.Contains(text, []byte("#"+id))
}

// takes takes the messages in the queue and returns their number so far.
func (c *queueClient) takes() int {
	text, _ := os.ReadFile(filepath.Join(c.home, "queue_1.sqlite")) // none yet
	lines := slices.Collect(bytes.Lines(text))
	for _, line := range lines[c.taken:] {
		c.prompt(string(bytes.TrimSuffix(line, []byte("\n"))), "queue")
	}
	c.taken = len(lines)
	return c.taken
}

// TestCodexQueueKills tests that messages to an idle Codex agent arrive through the client's
// queue, each once, however often the observer is killed and in whatever state the client's
// command is then.
func TestCodexQueueKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	t.Parallel()
	if _, err := os.ReadFile("/proc/locks"); err != nil {
		t.Skip("no list of locks: ", err)
	}
	d := newDaemon(t)
	home := filepath.Join(d.dir, ".codex")
	c := newQueueClient(t, home)
	bin := filepath.Join(d.dir, "bin")
	script := "#!/bin/sh\n[ \"$1 $2 $4\" = 'queue --thread --message' ] && [ \"$3\" = " + queueThread + " ] || exit 1\n" +
		"printf '%s\n' \"$5\" >>\"$CODEX_HOME/begun\"\nsleep 0.$((1 + $$ % 3))\n" +
		"printf '%s\n' \"$5\" >>\"$CODEX_HOME/queue_1.sqlite\"\nsleep 0.$((1 + $$ % 3))\nprintf '%s\n' \"$5\" >>\"$CODEX_HOME/ended\"\n"
	noErrors(t, os.MkdirAll(bin, 0o700))
	noErrors(t, os.WriteFile(filepath.Join(bin, "codex"), []byte(script), 0o700))
	d.vars = append(d.vars, "PATH="+bin+":"+os.Getenv("PATH"))
	d.start()
	d.eventually("the thread is open", func() string {
		s, err := d.api.Sessions(t.Context())
		if err == nil && (s.CatchingUp || s.NotWarned) {
			return "no agent can be reached"
		}
		return message(err)
	})
	const messages = 8
	ids := map[string]bool{}
	met := 0
	for i := range messages {
		m, err := d.api.Send(t.Context(), queueThread, api.NewMessage{
			Text: fmt.Sprintf("Message %d; $(rm -rf /) and é.", i),
		})
		noErrors(t, err)
		ids[m.ID] = true
		file := []string{
			"begun",
			"queue_1.sqlite",
		}[i%2] // before the text is in the queue, or after
		d.within(2*time.Minute, "the command has written "+file, func() string {
			if !c.wrote(file, m.ID) {
				return "not yet"
			}
			return ""
		})
		if !c.wrote("ended", m.ID) {
			met++
		}
		if !d.kill() {
			t.Fatal("the observer had already ended")
		}
		d.start()
	}
	if met < messages/2 {
		t.Errorf("%d of %d kills met the command", met, messages)
	}
	d.within(3*time.Minute, "all are received", func() string {
		c.takes()
		all, err := d.api.Messages(t.Context(), queueThread)
		if err != nil {
			return err.Error()
		}
		for _, m := range all.Messages {
			if m.Status != "confirmed" || m.Via != "queue" {
				return fmt.Sprintf("%+v", m)
			}
		}
		return ""
	})
	d.eventually("each command has ended", func() string {
		for id := range ids {
			if !c.wrote("ended", id) {
				return "not that of " + id
			}
		}
		return ""
	})
	text := readFile(t, c.path)
	received := map[string]int{}
	for _, m := range regexp.MustCompile(`"text":"\[sm message\][^"]* #([0-9a-f]{6})"`).FindAllSubmatch(
		text,
		-1,
	) {
		received[string(m[1])]++
	}
	for id := range ids {
		if received[id] != 1 {
			t.Errorf("message %s was received %d times", id, received[id])
		}
	}
	if len(received) != messages {
		t.Errorf("received %v, sent %v", received, ids)
	}
}
