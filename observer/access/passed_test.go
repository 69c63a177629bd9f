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

// handed is a listener as a service manager hands it on: by its descriptor.
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

// TestPassed: a passed socket is used and outlives its listener; others are closed and named.
func TestPassed(t *testing.T) {
	path := shortPath(t)
	noErrors(t, os.MkdirAll(filepath.Dir(path), 0o700))
	unix := handed(t, "unix", path)
	tcp := handed(t, "tcp", "127.0.0.1:0")
	stranger := handed(t, "tcp", "127.0.0.1:0")
	noErrors(t, os.Chmod(path, 0o600))
	manager, err := unix.(*net.UnixListener).File() // the manager's own descriptor stays open
	noErrors(t, err)
	defer manager.Close()
	address := tcp.Addr().String()
	passed := &Passed{[]net.Listener{stranger, tcp, unix}}

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
	if !strings.Contains(log.String(), stranger.Addr().String()) ||
		strings.Contains(log.String(), address) {
		t.Errorf("log: %s", &log)
	}
	if c, err := net.Dial("tcp", stranger.Addr().String()); err == nil {
		c.Close()
		t.Error("the address that nobody wants is still open")
	}
	for _, l := range append(listeners, l) {
		noErrors(t, l.Close())
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the manager's socket is refused while nobody serves: %v", err)
	}
	c.Close()
}

// TestPassedOpenToOthers: a socket that others may reach is refused, as one of
// our own would not be made.
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
