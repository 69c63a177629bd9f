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

// diagID, diagRequest and diagAnswer are those of the kernel's
// include/uapi/linux/inet_diag.h, behind the header of their message.
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

// tcpPeerUID returns the uid of the process of this machine that made the other end
// of c, if the kernel reports it.
func tcpPeerUID(c *net.TCPConn) (uid uint32, known bool) {
	local, lok := c.LocalAddr().(*net.TCPAddr)
	remote, rok := c.RemoteAddr().(*net.TCPAddr)
	// The kernel is not asked about zones: the same link-local address may exist on
	// another link.
	if !lok || !rok || local.Zone != "" || remote.Zone != "" {
		return 0, false
	}
	s, found := diagSocket(remote.AddrPort(), local.AddrPort())
	// The uid of a socket that is half-open or waiting to be forgotten, or that no
	// process has any more (no inode), may be any.
	states := []uint8{
		unix.BPF_TCP_ESTABLISHED,
		unix.BPF_TCP_FIN_WAIT1,
		unix.BPF_TCP_FIN_WAIT2,
		unix.BPF_TCP_CLOSE_WAIT,
	}
	if !found || s.Inode == 0 || !slices.Contains(states, s.State) {
		return 0, false
	}

	// After a reset the same addresses can belong to a later connection of another
	// user. They cannot while our end is up.
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

// diagSocket asks the kernel by sock_diag(7) for the TCP socket that is bound to local
// and connected to remote. An answer takes some microseconds however many sockets
// there are. None is found, too, where the kernel lacks the module.
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
	// Connected to the kernel, the socket takes no messages of others.
	err = unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	if err == nil {
		_, err = unix.Write(fd, b[:request.Header.Len])
	}
	if err == nil {
		n, err = unix.Read(fd, b) // the kernel answers while it takes the request
	}
	_, _ = binary.Decode(b, binary.NativeEndian, &answer) // n is how much of it was received
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
	if near.Is4() { // finds sockets made as IPv6, too
		r.Family = unix.AF_INET
	}
	binary.BigEndian.PutUint16(r.ID.LocalPort[:], local.Port())
	binary.BigEndian.PutUint16(r.ID.RemotePort[:], remote.Port())
	copy(r.ID.Local[:], near.AsSlice())
	copy(r.ID.Remote[:], remote.Addr().Unmap().AsSlice())
	if near.IsLoopback() {
		r.ID.Interface = loopbackInterface // finds sockets that are bound to it, too
	}
	return r
}
