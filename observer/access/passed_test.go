package access

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// handed returns a listener from a descriptor, as a service manager passes it.
func handed(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	noErrors(t, err)
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	f, err := l.(interface{ File() (*os.File, error) }).File()
	noErrors(t, err)
	defer f.Close()
	noErrors(t, l.Close())
	l, err = net.FileListener(f)
	noErrors(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// TestPassed tests that a passed socket is used and outlives its listener, and that others
// are closed and named.
func TestPassed(t *testing.T) {
	path := shortPath(t)
	noErrors(t, os.MkdirAll(filepath.Dir(path), 0o700))
	unix := handed(t, "unix", path)
	tcp := handed(t, "tcp", "127.0.0.1:0")
	unused := handed(t, "tcp", "127.0.0.1:0")
	noErrors(t, os.Chmod(path, 0o600))
	manager, err := unix.(*net.UnixListener).File() // the manager's own descriptor stays open
	noErrors(t, err)
	defer manager.Close()
	address := tcp.Addr().String()
	passed := &Passed{[]net.Listener{unused, tcp, unix}}

	var log bytes.Buffer
	listeners, err := listenAt(t, passed, NewShares(nil), address, "127.0.0.1:0")
	noErrors(t, err)
	l, err := ListenUnix(t.Context(), path, passed)
	noErrors(t, err)
	noErrors(t, passed.CloseRest(slog.New(slog.NewTextHandler(&log, nil))))
	if listeners[0].Addr().String() != address || listeners[1].Addr().String() == address {
		t.Errorf(
			"listens on %v and %v, want %s and another",
			listeners[0].Addr(),
			listeners[1].Addr(),
			address,
		)
	}
	if !strings.Contains(log.String(), unused.Addr().String()) ||
		strings.Contains(log.String(), address) {
		t.Errorf("log: %s", &log)
	}
	if c, err := net.Dial("tcp", unused.Addr().String()); err == nil {
		c.Close()
		t.Error("the unused address is still open")
	}
	for _, l := range append(listeners, l) {
		noErrors(t, l.Close())
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the manager's socket refuses connections after the end: %v", err)
	}
	c.Close()
}

// TestPassedOpenToOthers tests that a passed socket that other users can reach is refused.
func TestPassedOpenToOthers(t *testing.T) {
	path := shortPath(t)
	noErrors(t, os.MkdirAll(filepath.Dir(path), 0o700))
	l := handed(t, "unix", path)
	noErrors(t, os.Chmod(path, 0o666))
	if _, err := ListenUnix(
		t.Context(),
		path,
		&Passed{[]net.Listener{l}},
	); err == nil ||
		!strings.Contains(err.Error(), "SocketMode=0600") {
		t.Errorf("taken: %v", err)
	}
}
