package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sm/handoff/files"
	"sm/handoff/proc"
	"sm/observer/api"
)

// runPatience bounds the wait for an event on a busy machine.
const runPatience = 2 * time.Minute

// runRig is one `sm run` with a simulated client.
type runRig struct {
	t      *testing.T
	dir    string
	cwd    string // of the run; "" is that of the test
	vars   []string
	args   []string // of its client, besides those of start
	cmd    *exec.Cmd
	exited chan struct{}
	stderr bytes.Buffer
}

func newRunRig(t *testing.T, vars ...string) *runRig {
	t.Helper()
	if !files.IsDir("/proc/self") {
		t.Skip("needs /proc")
	}
	dir, err := os.MkdirTemp("", "sm") // t.TempDir is too long for a socket
	noErrors(t, err)
	r := &runRig{t: t, dir: dir, vars: vars}
	noErrors(t, syscall.Mkfifo(filepath.Join(dir, "orders"), 0o600))
	t.Cleanup(func() {
		if r.cmd != nil {
			_ = r.cmd.Process.Kill() // it may have ended
			<-r.exited
		}
		for _, pid := range r.census() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // by their environment they belong to the test
		}
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("stderr: %s\nthe client's log:\n%s", &r.stderr, log)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *runRig) socket() string { return filepath.Join(r.dir, "s") }

func (r *runRig) environ() []string {
	return append([]string{
		quickRace, "PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "SM_SOCKET=" + r.socket(), runClientDir + "=" + r.dir, "GOMAXPROCS=1",
	}, r.vars...)
}

// start runs `sm run` without a terminal: it gets only signals that the test sends.
func (r *runRig) start(args ...string) {
	r.t.Helper()
	r.cmd = exec.Command("sm", append([]string{"run"}, args...)...)
	r.cmd.Env, r.cmd.Stderr, r.cmd.SysProcAttr = r.environ(), &r.stderr, &syscall.SysProcAttr{
		Setsid: true,
	}
	r.cmd.Dir = r.cwd
	r.cmd.WaitDelay = time.Second // processes left behind may hold stderr
	noErrors(r.t, r.cmd.Start())
	r.exited = make(chan struct{})
	go func() {
		_ = r.cmd.Wait() // code returns the exit code
		close(r.exited)
	}()
}

// client starts a run of the simulated client and waits for it.
func (r *runRig) client(args ...string) runEvent {
	r.t.Helper()
	r.start(slices.Concat([]string{"--", runClientName}, r.args, args)...)
	return r.wait("start", 1)
}

func (r *runRig) code() int {
	r.t.Helper()
	select {
	case <-r.exited:
	case <-time.After(runPatience):
		r.t.Fatal("sm run does not end")
	}
	return r.cmd.ProcessState.ExitCode()
}

func (r *runRig) signal(sig syscall.Signal) {
	r.t.Helper()
	noErrors(r.t, r.cmd.Process.Signal(sig))
}

func (r *runRig) events(kind string) (found []runEvent) {
	r.t.Helper()
	log, err := os.ReadFile(filepath.Join(r.dir, "log"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	for line := range bytes.Lines(log) {
		var e runEvent
		if json.Unmarshal(line, &e) == nil &&
			e.Kind == kind { // the last line may be incomplete
			found = append(found, e)
		}
	}
	return found
}

// wait waits for the nth event of a kind.
func (r *runRig) wait(kind string, n int) (e runEvent) {
	r.t.Helper()
	r.until(fmt.Sprintf("%s number %d", kind, n), func() bool {
		found := r.events(kind)
		if len(found) >= n {
			e = found[n-1]
		}
		return len(found) >= n
	})
	return e
}

func (r *runRig) until(what string, done func() bool) {
	r.t.Helper()
	if !comes(5*time.Millisecond, time.After(runPatience), done) {
		r.t.Fatalf("timeout waiting for %s; processes:\n%s", what, r.listing())
	}
}

// order sends the simulated client a command; for some it cannot report completion.
func (r *runRig) order(text string) {
	r.t.Helper()
	done := len(r.events("done"))
	pipe, err := os.OpenFile(filepath.Join(r.dir, "orders"), os.O_RDWR, 0)
	noErrors(r.t, err)
	if _, err := pipe.WriteString(text + "\n"); err != nil {
		r.t.Fatal(err)
	}
	switch strings.Fields(text)[0] {
	case "exit", "kill", "suspend", "stop":
		r.t.Cleanup(func() { pipe.Close() }) // keep it open until it is read
	default:
		if e := r.wait("done", done+1); e.Text != text {
			r.t.Fatal(e.Text)
		}
		pipe.Close()
	}
}

// census lists every descendant of the run, also after its parent has ended: all have its
// folder in their environment.
func (r *runRig) census() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		vars, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(vars, []byte(runClientDir+"="+r.dir+"\x00")) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if proc.Alive(pid, "") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// listing describes the run's descendants as ps does.
func (r *runRig) listing() string {
	var lines strings.Builder
	for _, pid := range r.census() {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // it may have ended
		words, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		fmt.Fprintf(&lines, "%.80s %q\n", stat, words)
	}
	return lines.String()
}

// noneLeft checks that no process is left, except these.
func (r *runRig) noneLeft(but ...int) {
	r.t.Helper()
	if left := slices.DeleteFunc(
		r.census(),
		func(pid int) bool { return slices.Contains(but, pid) },
	); len(left) > 0 {
		for _, pid := range left {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			r.t.Errorf("left behind: %d %q", pid, line)
		}
	}
}

// fakeObserver answers the requests of `sm run`.
type fakeObserver struct {
	t       *testing.T
	server  *http.Server
	agent   string
	stopped chan struct{}

	mu         sync.Mutex
	registered []api.Registration
	polls      []api.Run
	given      *api.Instruction // until a request shows that it has arrived: an answer may be lost

	next chan api.Instruction // given in this order
}

func (r *runRig) observer() *fakeObserver {
	r.t.Helper()
	_ = os.Remove(r.socket()) // of an earlier one
	listener, err := net.Listen("unix", r.socket())
	noErrors(r.t, err)
	o := &fakeObserver{
		t:       r.t,
		next:    make(chan api.Instruction, 8),
		stopped: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sessions", o.register)
	mux.HandleFunc("GET /runs/{id}/next", o.poll)
	o.server = &http.Server{Handler: mux}
	go func() {
		defer close(o.stopped)
		if err := o.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			r.t.Error(err)
		}
	}()
	r.t.Cleanup(o.stop)
	return o
}

// stop ends it as a crash does: requests get no answer.
func (o *fakeObserver) stop() {
	_ = o.server.Close() // errors no longer matter
	<-o.stopped
}

func (o *fakeObserver) register(w http.ResponseWriter, r *http.Request) {
	var reg api.Registration
	if err := json.NewDecoder(r.Body).Decode(&reg); err != nil {
		o.t.Error(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.registered = append(o.registered, reg)
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(api.Session{ID: reg.ID}) // the client may have disconnected
}

func (o *fakeObserver) poll(w http.ResponseWriter, r *http.Request) {
	run, err := api.ParseRun(r.URL.Query())
	if err != nil {
		o.t.Error(err)
	}
	o.mu.Lock()
	o.polls, o.agent = append(o.polls, run), r.PathValue("id")
	if o.given != nil &&
		(run.Handled == o.given.Rotation || run.Restarting == o.given.Rotation) {
		o.given = nil
	}
	if o.given == nil {
		o.mu.Unlock()
		var in api.Instruction
		select {
		case in = <-o.next:
		case <-r.Context().Done():
			return
		case <-time.After(api.RunWait):
			w.WriteHeader(http.StatusNoContent)
			return
		}
		o.mu.Lock()
		o.given = &in
	}
	in := *o.given
	o.mu.Unlock()
	_ = json.NewEncoder(w).Encode(in)
}

func (o *fakeObserver) instruct(all ...api.Instruction) {
	for _, in := range all {
		o.next <- in
	}
}

// request waits for a request for which is returns true, and returns it.
func (o *fakeObserver) request(
	r *runRig,
	what string,
	right func(api.Run) bool,
) (found api.Run) {
	r.t.Helper()
	r.until(what, func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		i := slices.IndexFunc(o.polls, right)
		if i >= 0 {
			found = o.polls[i]
		}
		return i >= 0
	})
	return found
}

// outcome waits for the report of a rotation's outcome.
func (o *fakeObserver) outcome(r *runRig, rotation string) api.Run {
	r.t.Helper()
	return o.request(
		r,
		"the outcome of "+rotation,
		func(run api.Run) bool { return run.Handled == rotation },
	)
}
