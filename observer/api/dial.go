package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// MaxSocketPath is the longest path of the observer's socket, in bytes. It is what sun_path of macOS holds
// besides its final NUL, so that a configuration that works on one system works on the others.
const MaxSocketPath = 103

// ForeignError says that a process of another user serves the socket. Nothing was sent to it. It counts as
// [ErrNoObserver] for errors.Is: no observer of this user was found.
type ForeignError struct {
	Path string
	UID  uint32
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is served by uid %d and you are uid %d; start an observer of your own with 'sm observe', or name its socket with --socket",
		e.Path, e.UID, os.Geteuid())
}

// Is makes every *ForeignError one of ErrNoObserver too.
func (e *ForeignError) Is(target error) bool { return target == ErrNoObserver }

// Dial connects to the first of the sockets that a process of our own effective uid serves. A socket of anybody
// else, root included, is closed before a byte is sent: its answers could put words into an agent's context, and
// what is sent is not for others. Without any socket of ours the error is ErrNoObserver, a *ForeignError, or what
// kept a socket from being tried.
func Dial(ctx context.Context, sockets []string) (net.Conn, error) {
	var odd []error
	for _, path := range sockets {
		conn, err := dialOwn(ctx, path)
		if err == nil {
			return conn, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
			odd = append(odd, err)
		}
	}
	switch len(odd) {
	case 0:
		return nil, ErrNoObserver
	case 1:
		return nil, odd[0]
	}
	return nil, errors.Join(odd...)
}

func dialOwn(ctx context.Context, path string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	uid, err := PeerUID(conn.(*net.UnixConn))
	if err == nil && int(uid) != os.Geteuid() {
		err = &ForeignError{Path: path, UID: uid}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// PeerUID is the effective uid of the process at the other end of c, as it was when that process connected or, for
// a client, began to listen.
func PeerUID(c *net.UnixConn) (uid uint32, err error) {
	err = withDescriptor(c, func(fd int) (err error) {
		uid, err = peerUID(fd)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("peer credentials: %w", err)
	}
	return uid, nil
}

// withDescriptor calls f with the file descriptor of c, which stays open for that long.
func withDescriptor(c syscall.Conn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = raw.Control(func(fd uintptr) { inner = f(int(fd)) })
	return errors.Join(err, inner)
}
