package tmux

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// standInVariable names the directory of a simulated client: this test, run again in a pane.
const standInVariable = "SM_TEST_STANDIN"

func TestMain(m *testing.M) {
	var err error
	if dir := os.Getenv(standInVariable); dir != "" {
		err = standIn(dir)
	} else if filepath.Base(os.Args[0]) == recorder {
		err = record()
	} else {
		flag.Parse()
		// The tests wait for other processes most of the time.
		if err = flag.Set("test.parallel", "8"); err == nil {
			os.Exit(m.Run())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// event is a line of a simulated client's log.
type event struct {
	Kind string // start, done (an order was carried out), submit, approve, paste
	Text string `json:",omitempty"`
	PID  int    `json:",omitempty"`
}

// fake behaves like the client as far as this package depends on it: it draws an input box,
// requests bracketed paste, shows long pastes as a label, and approves with Enter when a
// dialog is open. It logs its prompts and every byte of its input.
type fake struct {
	log, raw *os.File
	tty      *os.File

	draft   string // text that Enter would submit
	shown   string // the same with labels
	pastes  int
	paste   *strings.Builder // the paste that is being read
	pending []byte           // input not parsed yet

	screen  string      // idle or dialog
	held    bool        // nothing is drawn until released
	garbled bool        // a letter is added to each paste
	hangs   atomic.Bool // reads no keys

	cooked  *term.State   // the terminal as it was before
	leaving chan struct{} // closed to stop the reading of keys
	left    chan struct{} // closed when reading has stopped
}

func standIn(dir string) error {
	f := &fake{
		screen:  "idle",
		tty:     os.Stdout,
		leaving: make(chan struct{}),
		left:    make(chan struct{}),
	}
	var err error
	if f.log, err = os.OpenFile(
		filepath.Join(dir, "log"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY,
		0o600,
	); err != nil {
		return err
	}
	if f.raw, err = os.OpenFile(
		filepath.Join(dir, "raw"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY,
		0o600,
	); err != nil {
		return err
	}
	// Opened for reading and writing, so that it blocks neither now nor when a writer closes
	// it.
	orders, err := os.OpenFile(filepath.Join(dir, "orders"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU) // a background process waits
	if f.cooked, err = term.MakeRaw(int(os.Stdin.Fd())); err != nil {
		return err
	}
	f.tty.WriteString("\x1b[?2004h")
	f.draw()
	f.record(event{Kind: "start", PID: os.Getpid()})

	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	type input struct {
		order string
		keys  []byte
	}
	inputs := make(chan input, 64) // a client that is ending takes none
	go func() {                    // ends with the process
		for lines := bufio.NewScanner(orders); lines.Scan(); {
			inputs <- input{order: lines.Text()}
		}
	}()
	go func() { // ends with the process
		defer close(f.left)
		for f.waits() {
			b := make([]byte, 8192)
			n, err := os.Stdin.Read(b)
			if n > 0 {
				inputs <- input{keys: b[:n]}
			}
			if err != nil { // the pane is gone, or the shell has taken the terminal back
				return
			}
		}
	}()
	for {
		var in input
		select {
		case <-resized:
			f.draw()
			continue
		case in = <-inputs:
		}
		if in.keys != nil {
			f.raw.Write(in.keys)
			f.pending = append(f.pending, in.keys...)
			f.read()
			f.draw()
			continue
		}
		if in.order == "exit" {
			return nil
		}
		if how, ok := strings.CutPrefix(in.order, "leave "); ok {
			return f.leave(how)
		}
		f.carryOut(in.order)
		f.draw()
		f.record(event{Kind: "done", Text: in.order})
	}
}

// waits waits for keys until the client ends, and then takes no more.
func (f *fake) waits() bool {
	for {
		select {
		case <-f.leaving:
			return false
		default:
		}
		if f.hangs.Load() {
			_, _ = unix.Poll(nil, 1)
			continue
		}
		keys := []unix.PollFd{{Fd: int32(os.Stdin.Fd()), Events: unix.POLLIN}}
		if n, err := unix.Poll(keys, 5); n > 0 || err != nil && err != unix.EINTR {
			return true
		}
	}
}

// leave ends as a client does: it gives the terminal back, lingers, and leaves its box on the
// screen. how is a number of milliseconds and a way.
func (f *fake) leave(how string) error {
	if strings.Contains(how, "kill") {
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	close(f.leaving)
	<-f.left
	if strings.Contains(how, "below") {
		f.tty.WriteString("\x1b[10;1H")
	}
	if strings.Contains(how, "off") {
		f.tty.WriteString("\x1b[?2004l")
	}
	var linger int
	fmt.Sscan(how, &linger)
	if err := term.Restore(int(os.Stdin.Fd()), f.cooked); err != nil {
		return err
	}
	<-time.After(time.Duration(linger) * time.Millisecond)
	return nil
}

func (f *fake) record(e event) {
	line, _ := json.Marshal(e)
	f.log.Write(append(line, '\n'))
}

func (f *fake) carryOut(order string) {
	verb, rest, _ := strings.Cut(order, " ")
	switch verb {
	case "show":
		f.screen = rest
	case "hold":
		f.held = true
	case "release":
		f.held = false
	case "hang":
		f.hangs.Store(true)
	case "read":
		f.hangs.Store(false)
	case "garble":
		f.garbled = true
	case "clear":
		f.draft = ""
		f.shown = ""
	}
}

// read takes keys and pastes from the pending input.
func (f *fake) read() {
	const opens, closes = "\x1b[200~", "\x1b[201~"
	for len(f.pending) > 0 {
		if f.paste != nil {
			i := bytes.Index(f.pending, []byte(closes))
			if i < 0 { // all except a possible beginning of the end sequence
				n := max(0, len(f.pending)-len(closes)+1)
				f.paste.Write(f.pending[:n])
				f.pending = f.pending[n:]
				return
			}
			f.paste.Write(f.pending[:i])
			f.pending = f.pending[i+len(closes):]
			f.insert(f.paste.String())
			f.paste = nil
			continue
		}
		switch b := f.pending[0]; {
		case bytes.HasPrefix(f.pending, []byte(opens)):
			f.pending = f.pending[len(opens):]
			f.paste = &strings.Builder{}
		case b == '\x1b' && len(f.pending) < len(opens) &&
			strings.HasPrefix(opens, string(f.pending)):
			return
		case b == '\r':
			f.pending = f.pending[1:]
			f.enter()
		case b == 0x15: // the row before the cursor
			f.pending = f.pending[1:]
			n := max(0, len(f.shown)-1) / 78 * 78
			f.shown = f.shown[:n]
			f.draft = f.shown
		case b < ' ' || b == 0x7f:
			f.pending = f.pending[1:]
		default:
			f.draft, f.shown = f.draft+string(f.pending[:1]), f.shown+string(f.pending[:1])
			f.pending = f.pending[1:]
		}
	}
}

func (f *fake) insert(text string) {
	f.record(event{Kind: "paste", Text: text})
	if f.screen != "idle" {
		return
	}
	if f.garbled {
		text += "x"
	}
	f.draft += text
	if len(utf16.Encode([]rune(text))) > 800 {
		f.pastes++
		text = fmt.Sprintf("[Pasted text #%d]", f.pastes)
	}
	f.shown += text
}

func (f *fake) enter() {
	if f.screen == "dialog" {
		f.screen = "idle"
		f.record(event{Kind: "approve"})
		return
	}
	f.record(event{Kind: "submit", Text: f.draft})
	f.draft = ""
	f.shown = ""
}

func (f *fake) draw() {
	if f.held {
		return
	}
	width, _, err := term.GetSize(int(f.tty.Fd()))
	if err != nil || width < 20 {
		width = 20
	}
	rule := "\x1b[38;5;244m" + strings.Repeat("─", width) + "\x1b[39m\r\n"
	var b strings.Builder
	b.WriteString("\x1b[H\x1b[2J● Answer.\r\n")
	if f.screen == "dialog" {
		b.WriteString(rule + " Bash command\r\n\r\n Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. No\r\n\r\n Esc to cancel")
	} else {
		text := strings.NewReplacer(
			"\n",
			"\r\n  ",
			"\r",
			"\r\n  ",
			"\x1b",
			"?",
		).Replace(f.shown)
		b.WriteString(rule + "❯\u00a0" + text + "\x1b7\x1b[7m \x1b[0m\r\n" + rule + "  ? for shortcuts\x1b8")
	}
	f.tty.WriteString(b.String())
}
