//go:build darwin || freebsd

package access

import (
	"net"
	"net/netip"
)

// These systems do not identify the peers of TCP connections. Routes for the observer's
// uid are therefore only on the Unix socket.

func tcpPeerUID(*net.TCPConn) (uint32, bool) { return 0, false }

func portOwner(netip.AddrPort) (uint32, bool) { return 0, false }
