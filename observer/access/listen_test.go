package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sm/observer/socket"
)

// shortPath returns a path for a socket in a directory that does not exist; those of
// t.TempDir are too long for a socket on macOS.
func shortPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "sm")
	noErrors(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "run", "sm.sock")
}

func noErrors(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestListenUnixLayouts tests all kinds of files in the place of the socket. They stay,
// except a stale socket of the same user.
func TestListenUnixLayouts(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	for _, tc := range []struct {
		socket string // stale, live or datagram; anything else is a file
		script string // run afterwards in the parent of its directory
		want   string // in the error; "" if it works
	}{
		{"", "rmdir run", ""},
		{"", "true", ""},
		{"", "chmod 755 run", ""},
		{"", "chmod 770 run", "can be written by others (mode 0770); run chmod 700"},
		{"", "rmdir run; ln -s / run", "is a symbolic link; set socket"},
		{"", "rmdir run; touch run", "is not a directory; set socket"},
		{"", "chown 65534 run", "belongs to another user; set socket"},
		{"stale", "true", ""},
		{"stale", "chown 65534 run/sm.sock", "belongs to another user; set socket"},
		{"live", "true", "answers there already; stop the other observer"},
		{"datagram", "true", "cannot tell whether it is in use; stop"},
		{"", "echo precious >run/sm.sock", "not a socket; move it away"},
		{"stale", "cd run; mv sm.sock 2; ln -s 2 sm.sock", "not a socket; move it away"},
	} {
		t.Run(tc.socket+" "+tc.script, func(t *testing.T) {
			if strings.Contains(tc.script, "chown") && os.Geteuid() != 0 {
				t.Skip("only root can change owners")
			}
			path := shortPath(t)
			noErrors(t, os.Mkdir(filepath.Dir(path), 0o700))
			switch tc.socket {
			case "stale", "live":
				l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
				noErrors(t, err)
				t.Cleanup(func() { _ = l.Close() })
				if tc.socket == "stale" {
					l.SetUnlinkOnClose(false)
					noErrors(t, l.Close())
				}
			case "datagram":
				c, err := net.ListenPacket("unixgram", path)
				noErrors(t, err)
				t.Cleanup(func() { _ = c.Close() })
			}
			cmd := exec.CommandContext(t.Context(), "sh", "-c", tc.script)
			cmd.Dir = filepath.Dir(filepath.Dir(path))
			noErrors(t, cmd.Run())

			before, _ := os.Lstat(path)
			l, err := ListenUnix(t.Context(), path, new(Passed))
			if tc.want == "" {
				checkSocket(t, l, err, path)
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) ||
				!strings.Contains(err.Error(), path) {
				t.Fatalf("error %v, want one of %s with %q", err, path, tc.want)
			}
			if after, _ := os.Lstat(path); before != nil && !os.SameFile(before, after) {
				t.Error("the existing file was removed")
			}
		})
	}
}

// checkSocket checks that a listener works, is private, and is removed when closed.
func checkSocket(t *testing.T, l net.Listener, err error, path string) {
	t.Helper()
	noErrors(t, err)
	info, err := os.Lstat(path)
	noErrors(t, err)
	if got := info.Mode(); got != fs.ModeSocket|0o600 {
		t.Errorf("mode of the socket: %v", got)
	}
	dir, err := os.Lstat(filepath.Dir(path))
	noErrors(t, err)
	if got := dir.Mode().Perm() & 0o022; got != 0 {
		t.Errorf("mode of the directory: %v", dir.Mode())
	}
	c, err := net.Dial("unix", path)
	noErrors(t, err)
	noErrors(t, c.Close(), l.Close())
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("socket after close: %v", err)
	}
}

func TestListenUnixPath(t *testing.T) {
	base := shortPath(t)
	dir := filepath.Dir(base)
	for _, tc := range []struct{ path, want string }{
		{filepath.Join(dir, strings.Repeat("x", socket.MaxPath-len(dir)-1)), ""},
		{
			filepath.Join(dir, strings.Repeat("x", socket.MaxPath-len(dir))),
			"path has 104 bytes and the system takes 103; set socket",
		},
		{"@sm", "not an absolute path; set socket"},
		{"sm.sock", "not an absolute path; set socket"},
		{"", "not an absolute path; set socket"},
	} {
		l, err := ListenUnix(t.Context(), tc.path, new(Passed))
		if tc.want == "" {
			checkSocket(t, l, err, tc.path)
		} else if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%d bytes: %v, want %q", len(tc.path), err, tc.want)
		}
	}
}

// TestListenUnixCloseKeepsOthers tests that closing keeps a socket that has replaced the
// observer's.
func TestListenUnixCloseKeepsOthers(t *testing.T) {
	path := shortPath(t)
	first, err := ListenUnix(t.Context(), path, new(Passed))
	noErrors(t, err, os.Remove(path))
	second, err := ListenUnix(t.Context(), path, new(Passed))
	noErrors(t, err, first.Close())
	checkSocket(t, second, nil, path)
	if err := second.Close(); errors.Is(err, fs.ErrNotExist) {
		t.Errorf("second close: %v", err)
	}
}

func TestListenTCP(t *testing.T) {
	t.Parallel()
	listen := func(addresses ...string) ([]net.Listener, error) {
		return listenAt(t, new(Passed), NewShares(nil), addresses...)
	}
	if none, err := listen(); err != nil || len(none) != 0 {
		t.Errorf("no addresses: %v, %v", none, err)
	}
	taken := listenTCP(t, NewShares(nil))
	defer taken.Close()
	free := listenTCP(t, NewShares(nil))
	address := free.Addr().String()
	noErrors(t, free.Close())

	_, err := listen(address, taken.Addr().String())
	want := fmt.Sprintf("listen %s: already in use", taken.Addr())
	if err == nil || !strings.HasPrefix(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), "; stop it or set listen") {
		t.Errorf("taken port: got %v, want %s…; stop it or set listen", err, want)
	}
	again, err := listen(address)
	noErrors(t, err) // the failure before has closed it
	noErrors(t, again[0].Close())
	if _, err := listen("127.0.0.1:x"); err == nil ||
		!strings.HasSuffix(err.Error(), "; set listen") {
		t.Errorf("not a port: %v", err)
	}
}

func TestListenNoIPv6(t *testing.T) {
	t.Parallel()
	missing := &net.OpError{
		Op:  "listen",
		Err: os.NewSyscallError("bind", syscall.EADDRNOTAVAIL),
	}
	for address, want := range map[string]bool{
		"[::1]:8420":         true,
		"127.0.0.1:8420":     false,
		"[2001:db8::1]:8420": false,
		"nonsense":           false,
	} {
		if got := noIPv6(address, missing); got != want {
			t.Errorf("%s is left out: %v, want %v", address, got, want)
		}
	}
	if noIPv6("[::1]:8420", os.NewSyscallError("bind", syscall.EADDRINUSE)) {
		t.Error("an address in use is left out")
	}
}

// TestServerSlow tests that a client that does not finish its request is disconnected.
func TestServerSlow(t *testing.T) {
	t.Parallel()
	p, _, h := newGate()
	short := 100 * time.Millisecond
	a := serveTCP(t, h, func(s *http.Server) {
		s.ReadHeaderTimeout = short
		s.ReadTimeout = 2 * short
		s.IdleTimeout = short
		s.ConnContext = asUser(ownUID())
	})
	post := "POST /seat HTTP/1.1\r\nContent-Length: 9\r\nContent-Type: application/json\r\nHost: "
	for sent, want := range map[string]string{
		"GET /seat HTTP/1.1\r\nHost: " + a.String() + "\r\nX: ":  "",
		post + a.String() + "\r\n\r\n{":                          "HTTP/1.1 408 ",
		post + "evil.com\r\n\r\n{":                               "HTTP/1.1 421 ",
		"GET /seat HTTP/1.1\r\nHost: " + a.String() + "\r\n\r\n": "HTTP/1.1 200 ",
	} {
		c, err := net.Dial("tcp", a.String())
		noErrors(t, err)
		_, err = io.WriteString(c, sent)
		noErrors(t, err, c.SetReadDeadline(time.Now().Add(20*time.Second)))
		got, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(got), want) ||
			want == "" && len(got) != 0 {
			t.Errorf("%q: got %.80q, %v; want %q and the end", sent, got, err, want)
		}
		noErrors(t, c.Close())
	}
	if n := p.changes.Load(); n != 0 {
		t.Errorf("got %d changes by incomplete requests, want 0", n)
	}
}

// TestServerStream tests that a long poll outlives the deadlines of the server, and other
// requests do not.
func TestServerStream(t *testing.T) {
	t.Parallel()
	limit := 100 * time.Millisecond
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(2 * limit):
			_, _ = io.WriteString(w, "late")
		case <-r.Context().Done():
			t.Errorf("%s: %v", r.URL.Path, context.Cause(r.Context()))
		}
	})
	stream := Route{
		Pattern: "/stream",
		Method:  "GET",
		Tier:    AnyLocal,
		Stream:  true,
		Handler: slow,
	}
	posted := stream
	posted.Method = "POST"
	plain := stream
	plain.Pattern = "/plain"
	plain.Stream = false
	_, h := NewHandlers([]Route{stream, posted, plain}, noRules())
	a := serveTCP(t, h, func(s *http.Server) {
		s.ReadHeaderTimeout = limit
		s.ReadTimeout = limit
		s.WriteTimeout = limit
	})
	w := newRawClient(t, a)
	for _, request := range []string{
		"GET /stream HTTP/1.1 | Host: HOST",
		"POST /stream HTTP/1.1 | Host: HOST | JSON | LENGTH: 2 || {}",
		"GET /stream HTTP/1.1 | Host: HOST",
	} {
		if resp, body := w.send(request); resp.StatusCode != 200 || body != "late" {
			t.Errorf("%q: %d %q", request, resp.StatusCode, body)
		}
	}
	c, err := net.Dial("tcp", a.String())
	noErrors(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET /plain HTTP/1.1\r\nHost: "+a.String()+"\r\n\r\n")
	noErrors(t, err)
	if got, err := io.ReadAll(c); err != nil || len(got) != 0 {
		t.Errorf("an answer after the deadline: %q, %v", got, err)
	}
}
