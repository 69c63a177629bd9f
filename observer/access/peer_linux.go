package access

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// loopbackInterface is the index of lo, in every network namespace.
const loopbackInterface = 1

// diagID, diagRequest and diagAnswer are the structures of the kernel's
// include/uapi/linux/inet_diag.h, preceded by the message header.
type diagID struct {
	LocalPort  [2]byte
	RemotePort [2]byte
	Local      [16]byte
	Remote     [16]byte
	Interface  uint32
	Cookie     uint64
}

type diagRequest struct {
	Header   unix.NlMsghdr
	Family   uint8
	Protocol uint8
	_        [2]byte
	States   uint32
	ID       diagID
}

type diagAnswer struct {
	Header unix.NlMsghdr
	Family uint8
	State  uint8
	_      [2]byte
	ID     diagID
	_      [3]uint32
	UID    uint32
	Inode  uint32
}

// tcpPeerUID returns the uid of the local process at the other end of c, if the
// kernel reports it.
func tcpPeerUID(c *net.TCPConn) (uid uint32, known bool) {
	local, lok := c.LocalAddr().(*net.TCPAddr)
	remote, rok := c.RemoteAddr().(*net.TCPAddr)
	// Addresses with a zone are not supported: the same link-local address may
	// exist on another link.
	if !lok || !rok || local.Zone != "" || remote.Zone != "" {
		return 0, false
	}
	s, found := diagSocket(remote.AddrPort(), local.AddrPort())
	// The uid is unreliable for a socket that is half-open or in TIME_WAIT, or
	// that no process has any more (no inode).
	states := []uint8{
		unix.BPF_TCP_ESTABLISHED,
		unix.BPF_TCP_FIN_WAIT1,
		unix.BPF_TCP_FIN_WAIT2,
		unix.BPF_TCP_CLOSE_WAIT,
	}
	if !found || s.Inode == 0 || !slices.Contains(states, s.State) {
		return 0, false
	}

	// After a reset the same addresses can belong to a later connection of
	// another user, but not while our end is open.
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	up := false
	_ = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		up = err == nil &&
			(info.State == unix.BPF_TCP_ESTABLISHED || info.State == unix.BPF_TCP_CLOSE_WAIT)
	})
	return s.UID, up
}

// portOwner returns the uid that listens on address, or on its port at any address.
func portOwner(address netip.AddrPort) (uint32, bool) {
	remote := netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
	if address.Addr().Unmap().Is4() {
		remote = netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	}
	s, found := diagSocket(address, remote)
	return s.UID, found && s.State == unix.BPF_TCP_LISTEN
}

// diagSocket queries the kernel by sock_diag(7) for the TCP socket that is
// bound to local and connected to remote. This takes some microseconds,
// independent of the number of sockets. found is false, too, if the kernel
// lacks the module.
func diagSocket(local, remote netip.AddrPort) (answer diagAnswer, found bool) {
	const kind = unix.SOCK_RAW | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	fd, err := unix.Socket(unix.AF_NETLINK, kind, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return answer, false
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	request := newDiagRequest(local, remote)
	b := make([]byte, 1024)
	_, _ = binary.Encode(b, binary.NativeEndian, request) // there is room for it
	n := 0
	// A socket that is connected to the kernel receives no messages of others.
	err = unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	if err == nil {
		_, err = unix.Write(fd, b[:request.Header.Len])
	}
	if err == nil {
		n, err = unix.Read(fd, b) // the answer is there when Write returns
	}
	_, _ = binary.Decode(b, binary.NativeEndian, &answer) // n bytes were received
	return answer, err == nil && n >= binary.Size(answer) &&
		answer.Header.Type == unix.SOCK_DIAG_BY_FAMILY
}

func newDiagRequest(local, remote netip.AddrPort) diagRequest {
	near := local.Addr().Unmap()
	r := diagRequest{
		Family:   unix.AF_INET6,
		Protocol: unix.IPPROTO_TCP,
		States:   ^uint32(0),                 // in any state
		ID:       diagID{Cookie: ^uint64(0)}, // with any cookie
	}
	r.Header = unix.NlMsghdr{
		Len:   uint32(binary.Size(r)),
		Type:  unix.SOCK_DIAG_BY_FAMILY,
		Flags: unix.NLM_F_REQUEST,
	}
	if near.Is4() { // also finds IPv6 sockets
		r.Family = unix.AF_INET
	}
	binary.BigEndian.PutUint16(r.ID.LocalPort[:], local.Port())
	binary.BigEndian.PutUint16(r.ID.RemotePort[:], remote.Port())
	copy(r.ID.Local[:], near.AsSlice())
	copy(r.ID.Remote[:], remote.Addr().Unmap().AsSlice())
	if near.IsLoopback() {
		r.ID.Interface = loopbackInterface // also finds sockets bound to the interface
	}
	return r
}
