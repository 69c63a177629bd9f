package access

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// Sizes and offsets of the kernel's include/uapi/linux/inet_diag.h: struct
// inet_diag_req_v2 and inet_diag_msg.
const (
	diagRequestBytes = 56
	diagAnswerBytes  = 72
	diagState        = 1
	diagUID          = 64
	diagInode        = 68

	// loopbackInterface is the index of lo, in every network namespace.
	loopbackInterface = 1
)

// unixPeerPID returns the process at the other end of c when it connected.
func unixPeerPID(c *net.UnixConn) (pid int, err error) {
	err = withDescriptor(c, func(fd int) error {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil {
			pid = int(cred.Pid)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("peer credentials: %w", err)
	}
	return pid, nil
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

// tcpPeerUID returns the uid of the process of this machine that made the other end
// of c.
func tcpPeerUID(c *net.TCPConn) (uint32, error) {
	local, lok := c.LocalAddr().(*net.TCPAddr)
	remote, rok := c.RemoteAddr().(*net.TCPAddr)
	// The kernel is not asked about zones: the same link-local address may exist on
	// another link.
	if !lok || !rok || local.Zone != "" || remote.Zone != "" {
		return 0, errPeerUnknown
	}
	s, err := diagSocket(remote.AddrPort(), local.AddrPort())
	if err != nil {
		return 0, err
	}
	// The uid of a socket that is half-open or waiting to be forgotten, or that no
	// process has any more (no inode), may be any.
	switch s.state {
	case unix.BPF_TCP_ESTABLISHED,
		unix.BPF_TCP_FIN_WAIT1,
		unix.BPF_TCP_FIN_WAIT2,
		unix.BPF_TCP_CLOSE_WAIT:
	default:
		return 0, errPeerUnknown
	}
	if s.inode == 0 {
		return 0, errPeerUnknown
	}

	// After a reset the same addresses can belong to a later connection of another
	// user. They cannot while our end is up.
	err = withDescriptor(c, func(fd int) error {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil && info.State != unix.BPF_TCP_ESTABLISHED &&
			info.State != unix.BPF_TCP_CLOSE_WAIT {
			return errPeerUnknown
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("connection state: %w", err)
	}
	return s.uid, nil
}

// portOwner returns the uid that listens on address, or on its port at any address.
func portOwner(address netip.AddrPort) (uint32, bool) {
	remote := netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
	if address.Addr().Unmap().Is4() {
		remote = netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	}
	s, err := diagSocket(address, remote)
	return s.uid, err == nil && s.state == unix.BPF_TCP_LISTEN
}

// socketInfo is a part of the kernel's answer about a socket.
type socketInfo struct {
	state uint8
	uid   uint32
	inode uint32
}

// diagSocket asks the kernel by sock_diag(7) for the TCP socket that is bound to local
// and connected to remote. An answer takes some microseconds however many sockets
// there are. The error is errPeerUnknown if there is none.
func diagSocket(local, remote netip.AddrPort) (socketInfo, error) {
	fd, err := unix.Socket(
		unix.AF_NETLINK,
		unix.SOCK_RAW|unix.SOCK_CLOEXEC,
		unix.NETLINK_SOCK_DIAG,
	)
	if err != nil {
		return socketInfo{}, fmt.Errorf("open sock_diag: %w", err)
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	kernel := &unix.SockaddrNetlink{Family: unix.AF_NETLINK}
	if err := unix.Sendto(fd, diagRequest(local, remote), 0, kernel); err != nil {
		return socketInfo{}, fmt.Errorf("ask sock_diag: %w", err)
	}
	buffer := make([]byte, 1024)
	for {
		// The kernel answers while it takes the request.
		n, from, err := unix.Recvfrom(fd, buffer, unix.MSG_DONTWAIT)
		if err != nil {
			return socketInfo{}, fmt.Errorf("ask sock_diag: %w", err)
		}
		sender, ok := from.(*unix.SockaddrNetlink)
		if ok && sender.Pid == 0 && n >= unix.SizeofNlMsghdr { // the kernel's
			return parseDiagAnswer(buffer[:n])
		}
	}
}

func diagRequest(local, remote netip.AddrPort) []byte {
	b := make([]byte, unix.SizeofNlMsghdr+diagRequestBytes)
	order := binary.NativeEndian
	order.PutUint32(b[0:], uint32(len(b)))
	order.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	order.PutUint16(b[6:], unix.NLM_F_REQUEST)

	near := local.Addr().Unmap()
	request := b[unix.SizeofNlMsghdr:]
	request[0] = unix.AF_INET6
	if near.Is4() { // finds sockets made as IPv6, too
		request[0] = unix.AF_INET
	}
	request[1] = unix.IPPROTO_TCP
	order.PutUint32(request[4:], ^uint32(0)) // in any state

	id := request[8:]
	binary.BigEndian.PutUint16(id[0:], local.Port())
	binary.BigEndian.PutUint16(id[2:], remote.Port())
	copy(id[4:20], near.AsSlice())
	copy(id[20:36], remote.Addr().Unmap().AsSlice())
	if near.IsLoopback() {
		order.PutUint32(id[36:], loopbackInterface) // finds sockets that are bound to it, too
	}
	order.PutUint64(id[40:], ^uint64(0)) // with any cookie
	return b
}

func parseDiagAnswer(b []byte) (socketInfo, error) {
	order := binary.NativeEndian
	kind := order.Uint16(b[4:])
	b = b[unix.SizeofNlMsghdr:]
	switch {
	case kind == unix.SOCK_DIAG_BY_FAMILY && len(b) >= diagAnswerBytes:
		return socketInfo{
			state: b[diagState],
			uid:   order.Uint32(b[diagUID:]),
			inode: order.Uint32(b[diagInode:]),
		}, nil
	case kind == unix.NLMSG_ERROR && len(b) >= 4:
		return socketInfo{}, errPeerUnknown // there is none, or the kernel lacks the module
	}
	return socketInfo{}, fmt.Errorf("ask sock_diag: answer of type %d", kind)
}
