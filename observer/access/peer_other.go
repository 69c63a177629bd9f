//go:build darwin || freebsd

package access

import (
	"net"
	"net/netip"
)

// unixPeerPID cannot say on all of these systems.
func unixPeerPID(*net.UnixConn) (int, error) { return 0, errPeerUnknown }

// tcpPeerUID always fails: these systems do not identify the peer of a TCP
// connection. Routes for the observer's uid are therefore only on the Unix socket.
func tcpPeerUID(*net.TCPConn) (uint32, error) { return 0, errPeerUnknown }

// A uidFinder finds the owner of a socket of this machine.
type uidFinder func(local, remote netip.AddrPort) (uint32, error)

// acceptFinder finds no uid: all connections count as unknown.
func acceptFinder(net.Listener) (find uidFinder, closeFinder func()) { return nil, func() {} }

func tcpPeerUIDBy(*net.TCPConn, uidFinder) (uint32, error) { return 0, errPeerUnknown }

// portOwner cannot say either.
func portOwner(netip.AddrPort) (uint32, bool) { return 0, false }
