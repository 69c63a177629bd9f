//go:build darwin || freebsd

package observer

import (
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// unixPeerUID is the effective uid that the other end of c had when it connected.
func unixPeerUID(c *net.UnixConn) (uid uint32, err error) {
	err = withDescriptor(c, func(fd int) error {
		cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err == nil {
			uid = cred.Uid
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("peer credentials: %w", err)
	}
	return uid, nil
}

// unixPeerPID cannot say on all of these systems.
func unixPeerPID(*net.UnixConn) (int, error) { return 0, errPeerUnknown }

// tcpPeerUID cannot say: these systems do not tell who is on the other end of a
// TCP connection. Routes for our own uid are therefore on the Unix socket only.
func tcpPeerUID(*net.TCPConn) (uint32, error) { return 0, errPeerUnknown }

// portOwner cannot say either.
func portOwner(netip.AddrPort) (uint32, bool) { return 0, false }
