package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"sm/cmd/internal/caller"
	"sm/handoff/proc"
)

// runClientName is the client that `sm run` runs in tests. It records its events and reads
// commands from a pipe in the folder that runClientDir names.
const (
	runClientName = "claude-stand-in"
	runClientDir  = "SM_TEST_RUN_CLIENT"
)

// runEvent is one line of its log.
type runEvent struct {
	Kind   string // start, done, or the name of a signal
	PID    int
	Parent int
	Argv   []string
	Env    map[string]string
	Cooked bool // the terminal is in line mode
	Text   string
}

type runClient struct {
	dir         string
	log         *os.File
	ignoresTerm bool
	on          int // the code after Ctrl-C
}

func runStandIn() {
	c := &runClient{dir: os.Getenv(runClientDir), on: 130}
	signals := make(chan os.Signal, 16)
	signal.Notify(
		signals,
		syscall.SIGTERM,
		syscall.SIGHUP,
		syscall.SIGQUIT,
		syscall.SIGINT,
		syscall.SIGCONT,
	)
	var err error
	if c.log, err = os.OpenFile(
		filepath.Join(c.dir, "log"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY,
		0o600,
	); err != nil {
		panic(err)
	}
	// The pipe is open for reading and writing, so that it has no end of file.
	pipe, err := os.OpenFile(filepath.Join(c.dir, "orders"), os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	orders := make(chan string)
	c.note(runEvent{Kind: "start", Argv: os.Args, Env: c.environ()})
	go func() {
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			orders <- lines.Text()
		}
	}()
	for {
		select {
		case sig := <-signals:
			c.receive(sig.(syscall.Signal))
		case order := <-orders:
			c.carryOut(order)
		}
	}
}

func (c *runClient) note(e runEvent) {
	e.PID, e.Parent = os.Getpid(), os.Getppid()
	if p, err := proc.Stat(
		"/proc",
		e.Parent,
	); err == nil &&
		caller.IsGuardian(e.Parent) {
		e.Parent = p.Parent // the run
	}
	if t, err := unix.IoctlGetTermios(0, ioctlGetTermios); err == nil {
		e.Cooked = t.Lflag&unix.ICANON != 0 && t.Lflag&unix.ECHO != 0
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = c.log.Write(append(line, '\n'))
	}
	if err != nil {
		panic(err)
	}
}

func (c *runClient) environ() map[string]string {
	vars := map[string]string{}
	for _, v := range os.Environ() {
		if name, value, _ := strings.Cut(
			v,
			"=",
		); strings.HasPrefix(name, "SM_") ||
			strings.HasPrefix(name, "CLAUDE") {
			vars[name] = value
		}
	}
	return vars
}

// receive ends as the real client does.
func (c *runClient) receive(sig syscall.Signal) {
	c.note(runEvent{Kind: unix.SignalName(sig)})
	switch {
	case sig == syscall.SIGINT:
		os.Exit(c.on)
	case sig == syscall.SIGTERM && c.ignoresTerm, sig == syscall.SIGCONT:
	default:
		os.Exit(128 + int(sig))
	}
}

func (c *runClient) carryOut(order string) {
	verb, rest, _ := strings.Cut(order, " ")
	n, _ := strconv.Atoi(rest) // 0 if it is no number
	e := runEvent{Kind: "done", Text: order}
	switch verb {
	case "exit":
		os.Exit(n)
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.Signal(n))
		select {}
	case "ignore-term":
		c.ignoresTerm = true
	case "interrupt":
		c.on = n
	case "raw": // as a program does that draws its own screen
		fmt.Print("\x1b[?1049h\x1b[?2004h\x1b[?1003h\x1b[?25l")
		if _, err := term.MakeRaw(0); err != nil {
			panic(err)
		}
	case "suspend": // as the real client does on Ctrl-Z
		_ = syscall.Kill(0, syscall.SIGTSTP)
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "spawn": // words of a shell
		cmd := exec.Command("/bin/sh", "-c", rest)
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		go func() { _ = cmd.Wait() }()
	case "call": // the same, and wait
		if out, err := exec.Command("/bin/sh", "-c", rest).CombinedOutput(); err != nil {
			e.Text = fmt.Sprint(order, ": ", err, ": ", string(out))
		}
	}
	c.note(e)
}
