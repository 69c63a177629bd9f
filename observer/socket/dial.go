// Package socket connects to the observer's Unix socket.
//
// Invariants: all connections are made by [Dial]; nothing is sent to a socket
// that another user serves. The package needs neither package net nor net/http,
// whose initialization would delay every hook while the client waits.
//
// It does not depend on the location of the socket, nor on the protocol.
package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// MaxPath is the maximum length of the socket's path, in bytes. It is the size
// of sun_path on macOS without the final NUL, so that a configuration works on
// all systems.
const MaxPath = 103

// ErrNoObserver means that no observer of this user answers on any of the sockets.
var ErrNoObserver = errors.New("no observer is running; start it with 'sm observe'")

// ForeignError means that a process of another user serves the socket. Nothing
// was sent to it. errors.Is reports it as [ErrNoObserver].
type ForeignError struct {
	Path string
	UID  uint32
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is served by uid %d and you are uid %d; start an observer of your own with 'sm observe', or name its socket with --socket",
		e.Path, e.UID, os.Geteuid())
}

// Is reports that a ForeignError is an ErrNoObserver.
func (e *ForeignError) Is(target error) bool { return target == ErrNoObserver }

// Dial connects to the first of the sockets that a process of our own effective
// uid serves. The socket of any other user, root included, is closed before a
// byte is sent: its answers could put text into an agent's context, and
// requests are private. If there is no socket of ours, the error is
// ErrNoObserver, a *ForeignError, or the reason why a socket could not be
// tried. Reads and writes of the returned file block a thread and have no
// deadline: a wait without a thread takes longer to set up than an observer
// takes to answer. [HangUp] ends them.
func Dial(sockets []string) (*os.File, error) {
	var odd []error
	for _, path := range sockets {
		conn, err := dialOwn(path)
		if err == nil {
			return conn, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
			odd = append(odd, err)
		}
	}
	if len(odd) == 0 {
		return nil, ErrNoObserver
	}
	return nil, errors.Join(odd...)
}

func dialOwn(path string) (*os.File, error) {
	conn, err := connect(path)
	if err != nil {
		return nil, fmt.Errorf("dial unix %s: %w", path, err)
	}
	uid, _, err := Peer(conn)
	if err == nil && int(uid) != os.Geteuid() {
		err = &ForeignError{Path: path, UID: uid}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// connect opens a connection. A Unix socket connects or fails at once.
func connect(path string) (*os.File, error) {
	// Like package net without SOCK_CLOEXEC: no process that starts meanwhile
	// inherits the descriptor.
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	if err = syscall.SetNonblock(fd, true); err == nil {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
	}
	if err == nil {
		err = syscall.SetNonblock(fd, false)
	}
	if err != nil {
		return nil, errors.Join(err, syscall.Close(fd))
	}
	return os.NewFile(uintptr(fd), path), nil
}

// HangUp ends all reads and writes of a connection.
func HangUp(c syscall.Conn) {
	if raw, err := c.SyscallConn(); err == nil { // an error means that c is closed
		_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
	}
}

// Peer returns the effective uid of the process at the other end of c at the
// time when that process connected or, for a client, began to listen, and its
// pid, 0 on systems that do not report it.
func Peer(c syscall.Conn) (uid uint32, pid int, err error) {
	raw, err := c.SyscallConn()
	if err == nil {
		var inner error
		err = raw.Control(func(fd uintptr) { uid, pid, inner = peer(int(fd)) })
		err = errors.Join(err, inner)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("peer credentials: %w", err)
	}
	return uid, pid, nil
}
