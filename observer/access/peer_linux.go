package access

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// States of a TCP socket, from the kernel's include/net/tcp_states.h.
const (
	tcpEstablished = 1
	tcpFinWait1    = 4
	tcpFinWait2    = 5
	tcpCloseWait   = 8
	tcpListen      = 10
)

// unixPeerPID is the process that the other end of c was when it connected.
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

// tcpPeerUID is the uid of the process of this machine that made the other end
// of c. The kernel lists it in the row of that end, whose local address is what
// we see as the remote one.
func tcpPeerUID(c *net.TCPConn) (uint32, error) { return tcpPeerUIDBy(c, tupleUID) }

// A uidFinder finds the owner of the socket of this machine that is bound to local and connected to remote.
type uidFinder func(local, remote netip.AddrPort) (uint32, error)

func tcpPeerUIDBy(c *net.TCPConn, find uidFinder) (uint32, error) {
	near, far, err := tcpAddresses(c)
	if err != nil {
		return 0, err
	}
	uid, err := find(far, near)
	if err == nil && uid == 0 {
		// Kernels before 6.17 print uid 0 for a socket that its owner has closed.
		// Such rows have no inode, but one closed while it is being printed may
		// still show it; the second look finds that one without.
		uid, err = find(far, near)
	}
	if err != nil {
		return 0, err
	}
	// After a reset the same addresses can belong to a later connection of
	// somebody else. They cannot while our end is up.
	err = withDescriptor(c, func(fd int) error {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil && info.State != tcpEstablished && info.State != tcpCloseWait {
			return errPeerUnknown
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("connection state: %w", err)
	}
	return uid, nil
}

func tcpAddresses(c *net.TCPConn) (near, far netip.AddrPort, err error) {
	l, lok := c.LocalAddr().(*net.TCPAddr)
	r, rok := c.RemoteAddr().(*net.TCPAddr)
	// The tables leave the zone out, so that a link-local address there may be
	// that of another link.
	if !lok || !rok || l.Zone != "" || r.Zone != "" {
		return near, far, errPeerUnknown
	}
	return unmapAddr(l.AddrPort()), unmapAddr(r.AddrPort()), nil
}

func unmapAddr(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// tableUID is tupleUID by the tables in /proc. They are not read in one piece and may miss a
// row while others come and go, hence the second try.
func tableUID(local, remote netip.AddrPort) (uint32, error) {
	for range 2 {
		for _, t := range socketTables(local) {
			rows, err := readSockets(t.path, ": "+procAddress(local, t.six)+" "+procAddress(remote, t.six)+" ")
			if err != nil {
				return 0, err
			}
			for _, row := range rows {
				if row.connected() {
					return row.uid, nil
				}
			}
		}
	}
	return 0, errPeerUnknown
}

// portOwner is the uid that listens on a, or on its port at any address.
func portOwner(a netip.AddrPort) (uint32, bool) {
	a = unmapAddr(a)
	for _, t := range socketTables(a) {
		rows, err := readSockets(t.path, fmt.Sprintf(":%04X ", a.Port()))
		if err != nil {
			continue
		}
		exact, anywhere := procAddress(a, t.six), procAddress(netip.AddrPortFrom(netip.IPv6Unspecified(), a.Port()), true)
		if !t.six {
			anywhere = procAddress(netip.AddrPortFrom(netip.IPv4Unspecified(), a.Port()), false)
		}
		for _, row := range rows {
			if row.state == tcpListen && (row.local == exact || row.local == anywhere) {
				return row.uid, true
			}
		}
	}
	return 0, false
}

type socketTable struct {
	path string
	six  bool
}

// socketTables returns the tables that may list a socket with this address: an IPv4
// socket may have been created as IPv6, and is then listed as ::ffff:a.b.c.d.
func socketTables(a netip.AddrPort) []socketTable {
	six := socketTable{"/proc/net/tcp6", true}
	if a.Addr().Is4() {
		return []socketTable{{"/proc/net/tcp", false}, six}
	}
	return []socketTable{six}
}

// procAddress writes a as those tables do: each 32-bit word of the address in
// the byte order of the machine, the port as a number.
func procAddress(a netip.AddrPort, six bool) string {
	raw := a.Addr().AsSlice()
	if six {
		b := a.Addr().As16()
		raw = b[:]
	}
	var out []byte
	for ; len(raw) > 0; raw = raw[4:] {
		out = fmt.Appendf(out, "%08X", binary.NativeEndian.Uint32(raw))
	}
	return string(fmt.Appendf(out, ":%04X", a.Port()))
}

// A socketRow is what we use of a row of /proc/net/tcp.
type socketRow struct {
	local string
	state uint64
	uid   uint32
	inode uint64
}

// connected reports whether the uid of the row is that of the user who made the
// connection. In a row that is half-open or waiting to be forgotten, or whose
// socket no process has any more (no inode), it may be anything.
func (r socketRow) connected() bool {
	return r.inode != 0 && slices.Contains([]uint64{tcpEstablished, tcpFinWait1, tcpFinWait2, tcpCloseWait}, r.state)
}

func readSockets(path, needle string) ([]socketRow, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // a kernel without IPv6
	}
	if err != nil {
		return nil, fmt.Errorf("read sockets: %w", err)
	}
	defer f.Close()
	rows, err := scanSockets(f, needle)
	if err != nil {
		return nil, fmt.Errorf("read sockets: %s: %w", path, err)
	}
	return rows, nil
}

// scanSockets returns the rows of table that hold needle: the search in raw
// bytes keeps a table of thousands of rows at about a millisecond.
func scanSockets(table io.Reader, needle string) ([]socketRow, error) {
	var rows []socketRow
	lines := bufio.NewScanner(table)
	for want := []byte(needle); lines.Scan(); {
		if !bytes.Contains(lines.Bytes(), want) {
			continue
		}
		// sl local remote st queues timer retransmits uid timeout inode …
		fields := bytes.Fields(lines.Bytes())
		if len(fields) < 10 {
			continue
		}
		state, err1 := strconv.ParseUint(string(fields[3]), 16, 8)
		uid, err2 := strconv.ParseUint(string(fields[7]), 10, 32)
		inode, err3 := strconv.ParseUint(string(fields[9]), 10, 64)
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		rows = append(rows, socketRow{local: string(fields[1]), state: state, uid: uint32(uid), inode: inode})
	}
	return rows, lines.Err()
}
