package supervise

import (
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The guardian's files beside the client's three.
const (
	guardianOrders  = 3
	guardianReports = 4
)

// newGuardian starts a guardian: this program, called with argv.
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
		Env:   []string{"GOMAXPROCS=1"},
		Files: append(files[:], theirOrders, theirNews),
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	err = errors.Join(err, theirOrders.Close(), theirNews.Close()) // the guardian has them
	if err != nil {
		return nil, errors.Join(err, orders.Close(), news.Close())
	}
	g := &guardian{
		process: process,
		orders:  orders,
		reports: make(chan guardianReport, 64),
		started: make(chan guardianReport, 1),
	}
	g.reading.Go(func() {
		defer news.Close()
		defer close(g.reports)
		defer close(g.started)
		for lines := json.NewDecoder(news); ; {
			var n guardianReport
			if lines.Decode(&n) != nil {
				return
			}
			if n.Ended == 0 {
				g.started <- n
			} else {
				g.reports <- n
			}
		}
	})
	return g, nil
}

// Guard makes this process the guardian of the supervisor that has started it, and returns true when the guardian's
// work is over. It returns false at once if no supervisor has started this process as a guardian.
func Guard() (was bool) {
	orders := os.NewFile(guardianOrders, "orders")
	news := os.NewFile(guardianReports, "news")
	for _, f := range []*os.File{orders, news} {
		var stat unix.Stat_t
		if f == nil || unix.Fstat(int(f.Fd()), &stat) != nil ||
			stat.Mode&unix.S_IFMT != unix.S_IFIFO {
			return false
		}
		syscall.CloseOnExec(int(f.Fd()))
	}
	runtime.LockOSThread() // the kernel kills the client when the thread ends that has started it
	w := &watch{
		news:   json.NewEncoder(news),
		orders: make(chan guardianOrder),
		ends:   make(chan os.Signal, 1),
	}
	signal.Notify(w.ends, syscall.SIGCHLD)
	for _, sig := range []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE,
	} {
		if !signal.Ignored(sig) { // an ignored signal stays ignored in the client
			signal.Notify(make(chan os.Signal, 1), sig) // caught and ignored
		}
	}
	adopt(true)
	_ = os.WriteFile(
		"/proc/self/comm",
		[]byte("sm guardian"),
		0,
	) // lists of processes would show "exe"
	go func() { // it ends with its pipe
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

// watch is the guardian in its own process.
type watch struct {
	news     *json.Encoder
	orders   chan guardianOrder
	ends     chan os.Signal
	client   int
	detached []Process
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
				w.detached = o.Detached
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
	sys.Setpgid = true
	sys.Pgid = o.Group
	client, err := os.StartProcess(o.Path, o.Argv, &os.ProcAttr{
		Env:   o.Env,
		Files: files,
		Sys:   sys,
	})
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

// collect collects children, and reports the client's stop or end.
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

// end ends what is left after the supervisor was killed.
func (w *watch) end() {
	for e := newEnding(time.Now()); ; time.Sleep(orphanLook) {
		w.collect()
		left := slices.DeleteFunc(
			family(os.Getpid()),
			func(c child) bool { return slices.Contains(w.detached, c.Process) },
		)
		if e.look(time.Now(), left, w.client) {
			return
		}
	}
}
