package access

import (
	"context"
	"errors"
	"net"

	"sm/observer/socket"
)

// errPeerUnknown means that the system does not identify the peer of a connection.
var errPeerUnknown = errors.New("peer unknown")

// A peer is the other end of a connection, as it was when it connected.
type peer struct {
	uid      uint32
	pid      int   // 0 if it is unknown
	err      error // the uid is unknown
	stranger bool  // the connection counts in the share of a stranger
}

type peerKey struct{}

// withPeer is the ConnContext of our servers.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	p := &peer{err: errPeerUnknown}
	switch c := c.(type) {
	case *net.UnixConn:
		p.uid, p.pid, p.err = socket.Peer(c)
	case *sharedConn:
		p.stranger = c.stranger
		if c.key.known {
			p.uid = c.key.uid
			p.err = nil
		}
	}
	return context.WithValue(ctx, peerKey{}, p)
}

func peerOf(ctx context.Context) *peer {
	if p, ok := ctx.Value(peerKey{}).(*peer); ok {
		return p
	}
	return &peer{err: errPeerUnknown}
}

// PeerPID returns the process at the other end of a request's connection at the time
// that it connected. Only Unix sockets on Linux have it; elsewhere it is 0.
func PeerPID(ctx context.Context) int { return peerOf(ctx).pid }
