package access

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"
)

// Sizes and offsets of the kernel's include/uapi/linux/inet_diag.h: struct inet_diag_req_v2 and inet_diag_msg.
const (
	diagRequestBytes = 56
	diagAnswerBytes  = 72
	diagState        = 1
	diagUID          = 64
	diagInode        = 68

	// loopbackInterface is the index of lo, in every network namespace.
	loopbackInterface = 1
)

// errNoDiag means that the kernel does not answer queries about single sockets.
var errNoDiag = errors.New("no sock_diag")

// A diag asks the kernel for single TCP sockets. It takes some microseconds however many there are; the tables in
// /proc take milliseconds when there are thousands.
type diag struct {
	mu     sync.Mutex
	fd     int // -1 when closed
	number uint32
	buffer []byte
}

func openDiag() (*diag, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoDiag, err)
	}
	return &diag{fd: fd, buffer: make([]byte, 1024)}, nil
}

func (d *diag) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fd >= 0 {
		_ = unix.Close(d.fd) // nothing was written
		d.fd = -1
	}
}

// socket finds the socket that is bound to local and connected to remote, or, when the port of remote is 0, listens on local.
// The error is errPeerUnknown when there is none.
func (d *diag) socket(local, remote netip.AddrPort) (row socketRow, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.number++
	kernel := &unix.SockaddrNetlink{Family: unix.AF_NETLINK}
	if err := unix.Sendto(d.fd, diagRequest(d.number, local, remote), 0, kernel); err != nil {
		return row, fmt.Errorf("%w: %w", errNoDiag, err)
	}
	// The kernel has answered by now: it does so while it takes the request.
	for {
		n, from, err := unix.Recvfrom(d.fd, d.buffer, unix.MSG_DONTWAIT)
		if err != nil {
			return row, fmt.Errorf("%w: %w", errNoDiag, err)
		}
		b := d.buffer[:n]
		if sender, ok := from.(*unix.SockaddrNetlink); !ok || sender.Pid != 0 || n < unix.SizeofNlMsghdr || binary.NativeEndian.Uint32(b[8:]) != d.number {
			continue // not the kernel's, or not about this question
		}
		return diagAnswer(b)
	}
}

// owner is the uid of the socket that is bound to local and connected to remote.
func (d *diag) owner(local, remote netip.AddrPort) (uint32, error) {
	row, err := d.socket(local, remote)
	if err != nil {
		return 0, err
	}
	if !row.connected() {
		return 0, errPeerUnknown
	}
	return row.uid, nil
}

func diagRequest(number uint32, local, remote netip.AddrPort) []byte {
	b := make([]byte, unix.SizeofNlMsghdr+diagRequestBytes)
	order := binary.NativeEndian
	order.PutUint32(b[0:], uint32(len(b)))
	order.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	order.PutUint16(b[6:], unix.NLM_F_REQUEST)
	order.PutUint32(b[8:], number)
	request := b[unix.SizeofNlMsghdr:]
	request[0], request[1] = unix.AF_INET6, unix.IPPROTO_TCP
	if local.Addr().Is4() { // finds sockets made as IPv6, too
		request[0] = unix.AF_INET
	}
	order.PutUint32(request[4:], ^uint32(0)) // in any state
	id := request[8:]
	binary.BigEndian.PutUint16(id[0:], local.Port())
	binary.BigEndian.PutUint16(id[2:], remote.Port())
	copy(id[4:20], local.Addr().AsSlice())
	copy(id[20:36], remote.Addr().AsSlice())
	if local.Addr().IsLoopback() {
		order.PutUint32(id[36:], loopbackInterface) // finds sockets that are bound to it, too
	}
	order.PutUint64(id[40:], ^uint64(0)) // whatever its cookie
	return b
}

func diagAnswer(b []byte) (row socketRow, err error) {
	order, kind := binary.NativeEndian, binary.NativeEndian.Uint16(b[4:])
	b = b[unix.SizeofNlMsghdr:]
	switch {
	case kind == unix.SOCK_DIAG_BY_FAMILY && len(b) >= diagAnswerBytes:
		return socketRow{state: uint64(b[diagState]), uid: order.Uint32(b[diagUID:]), inode: uint64(order.Uint32(b[diagInode:]))}, nil
	case kind == unix.NLMSG_ERROR && len(b) >= 4:
		if number := unix.Errno(-int32(order.Uint32(b))); number != unix.ENOENT {
			return row, fmt.Errorf("%w: %w", errNoDiag, number)
		}
		return row, errPeerUnknown // as it says of a kernel without the module, too
	}
	return row, fmt.Errorf("%w: answer of type %d", errNoDiag, kind)
}

// acceptFinder is how a listener finds out whose a connection is, nil where the system does not say; close ends it.
// Where the kernel can be asked for single sockets nothing else is tried: reading the tables for each connection that
// is gone again would cost a hundred times as much.
func acceptFinder(l net.Listener) (find uidFinder, closeFinder func()) {
	d, err := openDiag()
	if err != nil {
		return tableUID, func() {}
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		local := unmapAddr(tcp.AddrPort())
		nobody := netip.AddrPortFrom(netip.IPv6Unspecified(), 0)
		if local.Addr().Is4() {
			nobody = netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
		}
		if row, err := d.socket(local, nobody); err == nil && row.state == tcpListen {
			return d.owner, d.close
		}
	}
	d.close()
	return tableUID, func() {}
}

// tupleUID is the owner of the socket of this machine that is bound to local and connected to remote.
func tupleUID(local, remote netip.AddrPort) (uint32, error) {
	if d, err := openDiag(); err == nil {
		defer d.close()
		if uid, err := d.owner(local, remote); err == nil {
			return uid, nil
		}
	}
	return tableUID(local, remote)
}
