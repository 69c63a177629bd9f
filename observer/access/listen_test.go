package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sm/observer/api"
)

// shortPath is a path for a socket in a directory that does not exist yet;
// those of t.TempDir are too long for a socket on macOS.
func shortPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "sm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "run", "sm.sock")
}

// abandonSocket leaves a socket at path that nothing listens on.
func abandonSocket(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func noErrors(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestListenUnixLayouts has each thing that may be in the place of the socket.
func TestListenUnixLayouts(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	own := func(t *testing.T, path string) { noErrors(t, os.Mkdir(filepath.Dir(path), 0o700)) }
	for _, tc := range []struct {
		name    string
		prepare func(t *testing.T, path string)
		root    bool
		want    string // what the error says; empty: it works
		kept    bool   // what lies at the path must still lie there
	}{
		{name: "nothing", prepare: func(*testing.T, string) {}},
		{name: "own directory", prepare: own},
		{name: "readable directory", prepare: func(t *testing.T, path string) {
			own(t, path)
			noErrors(t, os.Chmod(filepath.Dir(path), 0o755))
		}},
		{name: "group-writable directory", want: "writable to others; run chmod 700", prepare: func(t *testing.T, path string) {
			own(t, path)
			noErrors(t, os.Chmod(filepath.Dir(path), 0o770))
		}},
		{name: "symlinked directory", want: "is a symbolic link; remove it", prepare: func(t *testing.T, path string) {
			noErrors(t, os.Symlink(t.TempDir(), filepath.Dir(path)))
		}},
		{name: "file for a directory", want: "is not a directory; move it away", prepare: func(t *testing.T, path string) {
			noErrors(t, os.WriteFile(filepath.Dir(path), nil, 0o600))
		}},
		{
			name: "foreign directory",
			root: true,
			want: "belongs to uid 65534; set socket",
			prepare: func(t *testing.T, path string) {
				own(t, path)
				noErrors(t, os.Chown(filepath.Dir(path), 65534, 65534))
			},
		},
		{name: "stale socket", prepare: func(t *testing.T, path string) {
			own(t, path)
			abandonSocket(t, path)
		}},
		{
			name: "foreign stale socket",
			root: true,
			kept: true,
			want: "belongs to uid 65534; set socket",
			prepare: func(t *testing.T, path string) {
				own(t, path)
				abandonSocket(t, path)
				noErrors(t, os.Chown(path, 65534, 65534))
			},
		},
		{
			name: "live socket",
			kept: true,
			want: "answers there already; stop the other observer",
			prepare: func(t *testing.T, path string) {
				own(t, path)
				l, err := net.Listen("unix", path)
				noErrors(t, err)
				t.Cleanup(func() { _ = l.Close() })
			},
		},
		{
			name: "datagram socket",
			kept: true,
			want: "cannot tell whether it is in use; stop",
			prepare: func(t *testing.T, path string) {
				own(t, path)
				c, err := net.ListenPacket("unixgram", path)
				noErrors(t, err)
				t.Cleanup(func() { _ = c.Close() })
			},
		},
		{
			name: "regular file",
			kept: true,
			want: "not a socket; move it away",
			prepare: func(t *testing.T, path string) {
				own(t, path)
				noErrors(t, os.WriteFile(path, []byte("precious"), 0o600))
			},
		},
		{
			name: "link to a stale socket",
			kept: true,
			want: "not a socket; move it away",
			prepare: func(t *testing.T, path string) {
				own(t, path)
				abandonSocket(t, path+"2")
				noErrors(t, os.Symlink(path+"2", path))
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.root && os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			path := shortPath(t)
			tc.prepare(t, path)
			before, _ := os.Lstat(path)
			l, err := ListenUnix(t.Context(), path, nil)
			if tc.want == "" {
				checkSocket(t, l, err, path)
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
				t.Fatalf("error %v, want one of %s with %q", err, path, tc.want)
			}
			if after, _ := os.Lstat(path); tc.kept && !os.SameFile(before, after) {
				t.Error("the file that was there is gone")
			}
		})
	}
}

// checkSocket expects a listener that works, is private, and goes when closed.
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
		{filepath.Join(dir, strings.Repeat("x", api.MaxSocketPath-len(dir)-1)), ""},
		{
			filepath.Join(dir, strings.Repeat("x", api.MaxSocketPath-len(dir))),
			"path has 104 bytes and the system takes 103; set socket",
		},
		{"@sm", "not an absolute path; set socket"},
		{"sm.sock", "not an absolute path; set socket"},
		{"", "not an absolute path; set socket"},
	} {
		l, err := ListenUnix(t.Context(), tc.path, nil)
		if tc.want == "" {
			checkSocket(t, l, err, tc.path)
		} else if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%d bytes: %v, want %q", len(tc.path), err, tc.want)
		}
	}
}

// TestListenUnixCloseKeepsOthers: a socket that took the place of ours is not ours.
func TestListenUnixCloseKeepsOthers(t *testing.T) {
	path := shortPath(t)
	first, err := ListenUnix(t.Context(), path, nil)
	noErrors(t, err, os.Remove(path))
	second, err := ListenUnix(t.Context(), path, nil)
	noErrors(t, err, first.Close())
	checkSocket(t, second, nil, path)
	if err := second.Close(); errors.Is(err, fs.ErrNotExist) {
		t.Errorf("second close looked for the socket again: %v", err)
	}
}

func TestListenTCP(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	none, err := ListenTCP(t.Context(), nil, nil, NewShares(nil), log)
	if err != nil || len(none) != 0 {
		t.Errorf("no addresses: %v, %v", none, err)
	}
	taken, err := ListenTCP(t.Context(), []string{"127.0.0.1:0"}, nil, NewShares(nil), log)
	noErrors(t, err)
	defer taken[0].Close()
	free, err := ListenTCP(t.Context(), []string{"127.0.0.1:0"}, nil, NewShares(nil), log)
	noErrors(t, err)
	address := free[0].Addr().String()
	noErrors(t, free[0].Close())

	_, err = ListenTCP(t.Context(), []string{address, taken[0].Addr().String()}, nil, NewShares(nil), log)
	want := fmt.Sprintf("listen %s: already in use", taken[0].Addr())
	if err == nil || !strings.HasPrefix(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), "; stop it or set listen") {
		t.Errorf("taken port: %v, want %s…; stop it or set listen", err, want)
	}
	again, err := ListenTCP(t.Context(), []string{address}, nil, NewShares(nil), log)
	noErrors(t, err) // the failure before has let go of it
	noErrors(t, again[0].Close())

	if _, err := ListenTCP(
		t.Context(),
		[]string{"127.0.0.1:x"},
		nil,
		NewShares(nil),
		log,
	); err == nil ||
		!strings.HasSuffix(err.Error(), "; set listen") {
		t.Errorf("not a port: %v", err)
	}
}

func TestListenNoIPv6(t *testing.T) {
	t.Parallel()
	missing := &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EADDRNOTAVAIL)}
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

// TestServerSlow: a client that does not finish its request is cut off.
func TestServerSlow(t *testing.T) {
	t.Parallel()
	p := new(recorder)
	_, h := NewHandlers(p.routes(), p.options())
	short := 100 * time.Millisecond
	a := serveTCP(t, h, func(s *http.Server) {
		s.ReadHeaderTimeout = short
		s.ReadTimeout = 2 * short
		s.IdleTimeout = short
		s.ConnContext = asUser(ownUID())
	})
	for name, tc := range map[string]struct{ sent, want string }{
		"headers": {"GET /seat HTTP/1.1\r\nHost: " + a.String() + "\r\nX: ", ""},
		"body": {
			"POST /seat HTTP/1.1\r\nHost: " + a.String() + "\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
			"HTTP/1.1 408 ",
		},
		"refused":  {"POST /seat HTTP/1.1\r\nHost: evil.com\r\nContent-Length: 9\r\n\r\n{", "HTTP/1.1 421 "},
		"finished": {"GET /seat HTTP/1.1\r\nHost: " + a.String() + "\r\n\r\n", "HTTP/1.1 200 "},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", a.String())
			noErrors(t, err)
			defer c.Close()
			_, err = io.WriteString(c, tc.sent)
			noErrors(t, err, c.SetReadDeadline(time.Now().Add(20*time.Second)))
			got, err := io.ReadAll(c)
			if err != nil || !strings.HasPrefix(string(got), tc.want) || tc.want == "" && len(got) != 0 {
				t.Errorf("got %.80q, %v; want %q and the end", got, err, tc.want)
			}
		})
	}
	if n := p.changes.Load(); n != 0 {
		t.Errorf("%d changes by requests that never ended", n)
	}
}

// TestServerStream: a long poll outlives the deadlines of the server, others do not.
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
	_, h := NewHandlers([]Route{
		{
			Pattern: "/stream",
			Methods: []string{"GET", "POST"},
			Tier:    AnyLocal,
			Stream:  true,
			Handler: slow,
		},
		{
			Pattern: "/plain",
			Methods: []string{"GET"},
			Tier:    AnyLocal,
			Handler: slow,
		},
	}, Options{})
	a := serveTCP(t, h, func(s *http.Server) {
		s.ReadHeaderTimeout = limit
		s.ReadTimeout = limit
		s.WriteTimeout = limit
	})
	w := newRawClient(t, a)
	host := "Host: " + a.String() + "\r\n"
	for _, request := range []string{
		"GET /stream HTTP/1.1\r\n" + host + "\r\n",
		"POST /stream HTTP/1.1\r\n" + host + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"GET /stream HTTP/1.1\r\n" + host + "\r\n",
	} {
		if resp, body := w.send("GET", request); resp.StatusCode != 200 || body != "late" {
			t.Errorf("%q: %d %q", request, resp.StatusCode, body)
		}
	}
	c, err := net.Dial("tcp", a.String())
	noErrors(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET /plain HTTP/1.1\r\n"+host+"\r\n")
	noErrors(t, err)
	if got, err := io.ReadAll(c); err != nil || len(got) != 0 {
		t.Errorf("an answer after the deadline: %q, %v", got, err)
	}
}
