package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"sm/handoff/files"
	"sm/observer/socket"
)

const dirAdvice = "set socket to a path in a directory of your own"

// ListenUnix listens on a socket that only our uid can connect to. The caller
// must hold the lock of the state directory; otherwise two observers could each
// take the other's socket for a stale one. Closing the listener removes the
// socket, unless it was passed: the service manager continues to listen on it.
func ListenUnix(ctx context.Context, path string, passed *Passed) (net.Listener, error) {
	var err error
	l := passed.take("unix", path)
	if l == nil {
		l, err = bindUnix(ctx, path)
	} else if err = checkPassed(path); err != nil {
		err = errors.Join(err, l.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("listen %s: %w", path, err)
	}
	return l, nil
}

func bindUnix(ctx context.Context, path string) (net.Listener, error) {
	switch {
	case len(path) > socket.MaxPath:
		return nil, fmt.Errorf(
			"path has %d bytes and the system takes %d; set socket to a shorter one",
			len(path),
			socket.MaxPath,
		)
	case !filepath.IsAbs(path): // includes names with @, sockets without file and owner
		return nil, errors.New("not an absolute path; set socket to one")
	}
	if err := files.PrivateDir(filepath.Dir(path), dirAdvice); err != nil {
		return nil, err
	}
	if err := clearStale(ctx, path); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	// Until now the umask decided who could connect. The directory is not
	// writable to others, and a client that has connected meanwhile is refused
	// because of its uid.
	err = os.Chmod(path, 0o600)
	own, missing := os.Lstat(path)
	if err = cmp.Or(err, missing); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &socketListener{l.(*net.UnixListener), path, own}, nil
}

// A socketListener removes its socket file when it closes, unless the file was
// replaced.
type socketListener struct {
	*net.UnixListener
	path string
	own  fs.FileInfo
}

// Close compares the files before it closes: while the listener is open no
// other file can have its inode.
func (s *socketListener) Close() error {
	now, err := os.Lstat(s.path)
	s.SetUnlinkOnClose(err == nil && os.SameFile(now, s.own))
	return s.UnixListener.Close()
}

// clearStale removes the socket of an observer that was killed. Any other file
// is an error.
func clearStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("there is something that is not a socket; move it away, or set socket")
	case !files.Own(info):
		return errors.New("the socket there belongs to another user; set socket to another path")
	}
	dialer := net.Dialer{Timeout: time.Second}
	c, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(
			errors.New("something answers there already; stop the other observer, or set socket"),
			c.Close(),
		)
	}
	// Only a refused connection proves that the socket is stale; a busy owner
	// causes other errors.
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf(
			"cannot tell whether it is in use; stop the other observer, or set socket: %w",
			err,
		)
	}
	return os.Remove(path)
}

// ListenTCP listens on all addresses; after an error it closes the listeners.
// Without IPv6 it omits [::1] with a warning: no other process can listen there
// either. Connections count in s.
func ListenTCP(
	ctx context.Context,
	addresses []string,
	passed *Passed,
	s *Shares,
	log *slog.Logger,
) (listeners []net.Listener, err error) {
	defer func() {
		if err != nil {
			for _, l := range listeners {
				err = errors.Join(err, l.Close())
			}
		}
	}()
	var skipped error
	for _, address := range addresses {
		l, err := passed.Listen(ctx, "tcp", address)
		switch {
		case err == nil:
			listeners = append(listeners, s.Listener(l))
		case noIPv6(address, err):
			log.Warn("no IPv6 here, address left out", "address", address, "err", err)
			skipped = err
		default:
			return listeners, listenError(address, err)
		}
	}
	if len(listeners) == 0 && skipped != nil {
		return nil, fmt.Errorf("no address to listen on; set listen: %w", skipped)
	}
	return listeners, nil
}

func noIPv6(address string, err error) bool {
	host, _, splitErr := net.SplitHostPort(address)
	return splitErr == nil && host == "::1" &&
		(errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT))
}

// listenError adds advice to an error. The observer never uses another port
// instead: hooks and scrapes would go to the process that has this port.
func listenError(address string, err error) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("listen %s: %w; set listen", address, err)
	}
	who := ""
	if a, parseErr := netip.ParseAddrPort(address); parseErr == nil {
		if uid, ok := portOwner(a); ok {
			who = fmt.Sprintf(" by uid %d", uid)
		}
	}
	return fmt.Errorf("listen %s: already in use%s; stop it or set listen", address, who)
}
