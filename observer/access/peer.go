package access

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"

	"sm/observer/socket"
)

// errPeerUnknown means that the system does not identify the peer of a connection.
var errPeerUnknown = errors.New("peer unknown")

// A peer is who has the other end of a connection; asked at the first need, and
// once.
type peer struct {
	user func() (uid uint32, err error)
	conn net.Conn
}

type peerKey struct{}

// withPeer is the ConnContext of our servers.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, &peer{user: sync.OnceValues(func() (uint32, error) { return peerUID(c) }), conn: c})
}

func peerOf(ctx context.Context) *peer {
	if p, ok := ctx.Value(peerKey{}).(*peer); ok {
		return p
	}
	return &peer{user: func() (uint32, error) { return 0, errPeerUnknown }}
}

func peerUID(c net.Conn) (uint32, error) {
	switch c := c.(type) {
	case interface{ NetConn() net.Conn }:
		return peerUID(c.NetConn())
	case *net.UnixConn:
		return socket.PeerUID(c)
	case *net.TCPConn:
		return tcpPeerUID(c)
	}
	return 0, errPeerUnknown
}

// PeerPID returns the process at the other end of a request's connection at the time
// that it connected. Only Unix sockets on Linux have it; elsewhere it is an error.
func PeerPID(ctx context.Context) (int, error) { return peerPID(peerOf(ctx).conn) }

func peerPID(c net.Conn) (int, error) {
	switch c := c.(type) {
	case interface{ NetConn() net.Conn }:
		return peerPID(c.NetConn())
	case *net.UnixConn:
		return unixPeerPID(c)
	}
	return 0, errPeerUnknown
}

func withDescriptor(c syscall.Conn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = raw.Control(func(fd uintptr) { inner = f(int(fd)) })
	return errors.Join(err, inner)
}
