//go:build darwin || freebsd

package access

import (
	"net"
	"net/netip"
)

// These systems do not identify the peers of TCP connections, and not all of them
// the process at the other end of a Unix socket. Routes for the observer's uid are
// therefore only on the Unix socket.
func unixPeerPID(*net.UnixConn) (int, error) { return 0, errPeerUnknown }

func tcpPeerUID(*net.TCPConn) (uint32, error) { return 0, errPeerUnknown }

func portOwner(netip.AddrPort) (uint32, bool) { return 0, false }
