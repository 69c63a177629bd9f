package observer

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// tool is an installed server, on loopback, in its own folder.
type tool struct {
	t    *testing.T
	base string // its URL
	log  *lockedBuffer

	dir   string
	argv  []string
	vars  []string // of its environment, besides this process's
	cmd   *exec.Cmd
	ended chan struct{}
}

// toolDir returns a folder for a tool and its files.
func toolDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "smtool") // other users cannot enter those of t.TempDir
	noErrors(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startTool runs an installed program in dir until the test ends, as another user if the test
// runs as root.
func startTool(t *testing.T, dir, pkg string, argv []string, vars ...string) *tool {
	t.Helper()
	_, err := exec.LookPath(argv[0])
	needs(t, fmt.Sprintf("the program %s (Debian's package %s)", argv[0], pkg), err == nil)
	s := &tool{
		t:    t,
		log:  new(lockedBuffer),
		dir:  dir,
		argv: argv,
		vars: vars,
	}
	t.Cleanup(s.stop)
	s.start()
	return s
}

// start runs it, and waits until it logs its address.
func (s *tool) start() {
	s.t.Helper()
	cmd := exec.Command(s.argv[0], s.argv[1:]...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), s.vars...)
	if os.Geteuid() == 0 {
		uid, credential := stranger(s.t)
		noErrors(s.t, os.Chown(s.dir, int(uid), int(uid)))
		cmd.SysProcAttr = credential
	}
	out, err := cmd.StderrPipe()
	noErrors(s.t, err, cmd.Start())
	found := make(chan string, 1)
	ended := make(chan struct{})
	s.cmd = cmd
	s.ended = ended
	go func() {
		defer close(ended)
		s.read(out, found)
		_ = cmd.Wait() // ended by a signal
	}()
	select {
	case s.base = <-found:
	case <-ended:
		s.t.Fatalf("%s ended: %s", s.argv[0], s.log)
	case <-time.After(patience):
		s.t.Fatalf("%s does not listen: %s", s.argv[0], s.log)
	}
}

// stop ends it regularly; it may have ended.
func (s *tool) stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
	s.cmd = nil
}

// read keeps the log and finds the server's address in it.
func (s *tool) read(out io.Reader, found chan<- string) {
	// Prometheus and Alertmanager log the first, VictoriaMetrics the second.
	listening := regexp.MustCompile(`msg="?Listening on"?.* address=(\S+)|starting http server at http://([^/]+)/`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		_, _ = fmt.Fprintln(s.log, lines.Text())
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			select {
			case found <- "http://" + m[1] + m[2]:
			default:
			}
		}
	}
}
