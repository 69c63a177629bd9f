package supervise

import (
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The guardian is a process between the supervisor and the client. It starts clients as their parent, collects the
// processes below it that end, and reports those of the client; the supervisor decides everything. If the supervisor is
// killed, the guardian ends the client and its descendants. It can find them because it is their subreaper: a process
// whose parent ends becomes a child of the guardian, not of process 1. It has its own process group, so that signals
// of the terminal and signals to the job do not reach it.

// The guardian's files beside the client's three.
const (
	guardianOrders = 3
	guardianNews   = 4
)

// A guardianOrder is a line to the guardian.
type guardianOrder struct {
	// Argv, not empty, asks for a client, with Path as its program, in the process group Group; Files says which of the
	// first three it gets.
	Path  string
	Argv  []string
	Env   []string
	Files [3]bool
	Group int
	// Loose are those that go on without the client and us. A list takes the place of the one before.
	Loose []Process
	// Done says that there is nothing left to end.
	Done bool
}

// guardianTells is a line from the guardian.
type guardianReport struct {
	Started Process            // the client that was asked for
	Errno   syscall.Errno      // or why it could not be started
	Status  syscall.WaitStatus // of a client that has stopped or ended, whose pid is in Ended
	Ended   int
}

// A guardian is our end of it.
type guardian struct {
	process *os.Process
	orders  *os.File
	news    chan guardianReport // closed when it has ended
	started chan guardianReport
	reading sync.WaitGroup
}

// newGuardian starts one; argv is what this program has to be called as to become it.
func newGuardian(argv []string, files [3]*os.File) (*guardian, error) {
	theirOrders, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	news, theirNews, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirOrders.Close(), orders.Close())
	}
	process, err := os.StartProcess("/proc/self/exe", argv, &os.ProcAttr{
		Env: []string{"GOMAXPROCS=1"}, Files: append(files[:], theirOrders, theirNews), Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	err = errors.Join(err, theirOrders.Close(), theirNews.Close()) // the guardian has them
	if err != nil {
		return nil, errors.Join(err, orders.Close(), news.Close())
	}
	g := &guardian{process: process, orders: orders, news: make(chan guardianReport, 64), started: make(chan guardianReport, 1)}
	g.reading.Go(func() {
		defer news.Close()
		defer close(g.news)
		defer close(g.started)
		for lines := json.NewDecoder(news); ; {
			var n guardianReport
			if lines.Decode(&n) != nil {
				return
			}
			if n.Ended == 0 {
				g.started <- n
			} else {
				g.news <- n
			}
		}
	})
	return g, nil
}

func (g *guardian) send(o guardianOrder) error {
	line, err := json.Marshal(o)
	if err == nil {
		_, err = g.orders.Write(append(line, '\n'))
	}
	return err
}

// start starts a client in our process group.
func (g *guardian) start(path string, argv, env []string, files [3]*os.File) (Process, error) {
	o := guardianOrder{Path: path, Argv: argv, Env: env, Group: syscall.Getpgrp()}
	for i, f := range files {
		o.Files[i] = f != nil
	}
	if err := g.send(o); err != nil {
		return Process{}, err
	}
	n, ok := <-g.started
	switch {
	case !ok:
		return Process{}, errors.New("its guardian has ended")
	case n.Errno != 0:
		return Process{}, n.Errno
	}
	return n.Started, nil
}

// close lets the guardian go, once nothing is left to end.
func (g *guardian) close() {
	_ = g.send(guardianOrder{Done: true}) // it may have ended
	_ = g.orders.Close()
	for range g.news { // until it has ended
	}
	g.reading.Wait()
	_, _ = g.process.Wait() // others may have collected it
}

// Guard makes this process the guardian of the supervisor that has started it, and returns true when the guardian's
// work is over. It returns false at once if no supervisor has started this process as a guardian.
func Guard() (was bool) {
	orders, news := os.NewFile(guardianOrders, "orders"), os.NewFile(guardianNews, "news")
	for _, f := range []*os.File{orders, news} {
		var stat unix.Stat_t
		if f == nil || unix.Fstat(int(f.Fd()), &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
			return false
		}
		syscall.CloseOnExec(int(f.Fd()))
	}
	runtime.LockOSThread() // the kernel kills the client when the thread ends that has started it
	w := &watch{news: json.NewEncoder(news), orders: make(chan guardianOrder), ends: make(chan os.Signal, 1)}
	signal.Notify(w.ends, syscall.SIGCHLD)
	for _, sig := range []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE,
	} {
		if !signal.Ignored(sig) { // what we were told to ignore, the client ignores too
			signal.Notify(make(chan os.Signal, 1), sig) // caught and ignored
		}
	}
	adopt(true)
	_ = os.WriteFile("/proc/self/comm", []byte("sm guardian"), 0) // lists of processes would show "exe"
	go func() {                                                   // it ends with its pipe
		defer close(w.orders)
		for lines := json.NewDecoder(orders); ; {
			var o guardianOrder
			if err := lines.Decode(&o); err != nil {
				return
			}
			w.orders <- o
		}
	}()
	w.run()
	return true
}

// watch is the guardian's own end.
type watch struct {
	news   *json.Encoder
	orders chan guardianOrder
	ends   chan os.Signal
	client int
	loose  []Process
}

func (w *watch) run() {
	for {
		select {
		case o, ok := <-w.orders:
			switch {
			case !ok:
				w.end()
				return
			case o.Done:
				return
			case len(o.Argv) > 0:
				_ = w.news.Encode(w.start(o)) // fails if the supervisor has ended; then orders is closed
			default:
				w.loose = o.Loose
			}
		case <-w.ends:
			w.collect()
		}
	}
}

func (w *watch) start(o guardianOrder) (n guardianReport) {
	files := make([]*os.File, len(o.Files))
	for i, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		if o.Files[i] {
			files[i] = f
		}
	}
	sys := attributes()
	sys.Setpgid, sys.Pgid = true, o.Group
	client, err := os.StartProcess(o.Path, o.Argv, &os.ProcAttr{Env: o.Env, Files: files, Sys: sys})
	if err != nil {
		if !errors.As(err, &n.Errno) {
			n.Errno = syscall.EINVAL
		}
		return n
	}
	w.client, n.Started = client.Pid, Process{client.Pid, startOf(client.Pid)}
	_ = client.Release() // never fails
	return n
}

// collect collects who has ended, and says what has become of the client.
func (w *watch) collect() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || pid <= 0:
			return
		case pid == w.client:
			if !status.Stopped() {
				w.client = 0
			}
			_ = w.news.Encode(guardianReport{Ended: pid, Status: status})
		}
	}
}

// end ends all that is left: the supervisor was killed.
func (w *watch) end() {
	for e := newEnding(time.Now()); ; time.Sleep(orphanLook) {
		w.collect()
		left := slices.DeleteFunc(family(os.Getpid()), func(c child) bool { return slices.Contains(w.loose, c.Process) })
		if e.look(time.Now(), left, w.client) {
			return
		}
	}
}
