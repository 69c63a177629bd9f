package access

import (
	"context"
	"net"

	"sm/observer/socket"
)

// A peer is the other end of a connection, as it was when it connected.
type peer struct {
	uid      uint32
	pid      int  // 0 if it is unknown
	known    bool // the system reports the uid
	stranger bool // neither our uid nor an allowed one
}

type peerKey struct{}

// withPeer is the ConnContext of our servers.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	var p peer
	switch c := c.(type) {
	case *net.UnixConn:
		uid, pid, err := socket.Peer(c)
		p = peer{uid: uid, pid: pid, known: err == nil}
	case *sharedConn:
		p = peer{uid: c.key.uid, known: c.key.known, stranger: c.stranger}
	}
	return context.WithValue(ctx, peerKey{}, p)
}

func peerOf(ctx context.Context) peer {
	p, _ := ctx.Value(peerKey{}).(peer)
	return p
}

// PeerPID returns the process at the other end of a request's connection at the time
// that it connected. Only Unix sockets on Linux have it; elsewhere it is 0.
func PeerPID(ctx context.Context) int { return peerOf(ctx).pid }
