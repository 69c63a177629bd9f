// Package socket connects to the observer's Unix socket.
//
// Invariants: there is no other way to the socket than [Dial]; nothing is sent
// to a socket that another user serves. It needs neither package net nor
// net/http: a hook, which the client waits for on every turn, would pay for
// them at its start.
//
// It depends neither on the place of the socket nor on the protocol.
package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// MaxPath is the longest path of the observer's socket, in bytes. It is what
// sun_path of macOS holds besides its final NUL, so that a configuration that
// works on one system works on the others.
const MaxPath = 103

// ErrNoObserver means that no observer of this user answers on any of the sockets.
var ErrNoObserver = errors.New("no observer is running; start it with 'sm observe'")

// ForeignError means that a process of another user serves the socket. Nothing was
// sent to it. For errors.Is it counts as [ErrNoObserver].
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

// Dial connects to the first of the sockets that a process of our own effective
// uid serves. A socket of any other user, root included, is closed before a byte
// is sent: its answers could put words into an agent's context, and what is
// sent is not for others. Without any socket of ours the error is
// ErrNoObserver, a *ForeignError, or what kept a socket from being tried. Reads
// and writes of what it returns block a thread, and have no deadline: to wait
// without a thread takes longer to set up than an observer takes to answer.
// [HangUp] ends them.
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
	// As package net does without SOCK_CLOEXEC: no process that starts
	// meanwhile inherits the descriptor.
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

// HangUp ends the reads and writes of a connection, those that wait too.
func HangUp(c syscall.Conn) {
	if raw, err := c.SyscallConn(); err == nil { // else it is closed
		_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
	}
}

// Peer is the effective uid of the process at the other end of c, as it was when that
// process connected or, for a client, began to listen, and its pid, 0 on systems that do
// not report it.
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
