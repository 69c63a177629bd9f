//go:build linux

package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// tcpPair is a TCP connection of ours over network: the end that a server accepts,
// and the client's.
func tcpPair(t *testing.T, listen string, dial func(port int) (net.Conn, error)) (server *net.TCPConn, client net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Skipf("no %s here: %v", listen, err)
	}
	defer l.Close()
	client, err = dial(l.Addr().(*net.TCPAddr).Port)
	noErrors(t, err)
	c, err := l.Accept()
	noErrors(t, err)
	t.Cleanup(func() { _, _ = c.Close(), client.Close() })
	return c.(*net.TCPConn), client
}

func dialHost(host string) func(int) (net.Conn, error) {
	return func(port int) (net.Conn, error) { return net.Dial("tcp", net.JoinHostPort(host, fmt.Sprint(port))) }
}

// dialMapped connects an IPv6 socket to an IPv4 address; package net never does.
func dialMapped(port int) (net.Conn, error) {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	to := &unix.SockaddrInet6{Port: port, Addr: netip.MustParseAddr("::ffff:127.0.0.1").As16()}
	if err := unix.Connect(fd, to); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	f := os.NewFile(uintptr(fd), "mapped")
	defer f.Close()
	return net.FileConn(f)
}

// dialBound connects a socket that takes part in nothing but the traffic of loopback.
func dialBound(port int) (net.Conn, error) {
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var inner error
		err := c.Control(func(fd uintptr) { inner = unix.BindToDevice(int(fd), "lo") })
		return errors.Join(err, inner)
	}}
	return d.Dial("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
}

func TestPeerTCP(t *testing.T) {
	for _, tc := range []struct {
		name, listen string
		dial         func(int) (net.Conn, error)
	}{
		{"IPv4", "127.0.0.1:0", dialHost("127.0.0.1")},
		{"IPv6", "[::1]:0", dialHost("::1")},
		{"IPv4 to a listener for both", "[::]:0", dialHost("127.0.0.1")},
		{"IPv4-mapped", "127.0.0.1:0", dialMapped},
		{"IPv4-mapped to a listener for both", "[::]:0", dialMapped},
		{"bound to loopback", "127.0.0.1:0", dialBound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server, _ := tcpPair(t, tc.listen, tc.dial)
			if uid, err := peerUID(server); err != nil || uid != ownUID() {
				t.Errorf("uid %d, %v; want %d", uid, err, ownUID())
			}
			if uid, err := peerUID(&limitedConn{Conn: server}); err != nil || uid != ownUID() {
				t.Errorf("through the limit: uid %d, %v; want %d", uid, err, ownUID())
			}
			if uid, err := tcpPeerUIDBy(server, tableUID); err != nil || uid != ownUID() {
				t.Errorf("by the tables: uid %d, %v; want %d", uid, err, ownUID())
			}
			if d := diagHere(t); d != nil {
				if uid, err := tcpPeerUIDBy(server, d.owner); err != nil || uid != ownUID() {
					t.Errorf("by a single question: uid %d, %v; want %d", uid, err, ownUID())
				}
			}
		})
	}
}

// diagHere asks for single sockets, nil where the kernel does not answer that.
func diagHere(t *testing.T) *diag {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noErrors(t, err)
	defer l.Close()
	d, err := openDiag()
	if err == nil {
		t.Cleanup(d.close)
		_, err = d.socket(l.Addr().(*net.TCPAddr).AddrPort(), netip.AddrPortFrom(netip.IPv4Unspecified(), 0))
	}
	if err != nil {
		t.Logf("no sock_diag here: %v", err)
		return nil
	}
	return d
}

// TestPeerDiag: of a socket that is not there nothing is told, nor by one that is closed.
func TestPeerDiag(t *testing.T) {
	d := diagHere(t)
	if d == nil {
		t.Skip("needs sock_diag")
	}
	server, client := tcpPair(t, "127.0.0.1:0", dialHost("127.0.0.1"))
	near, far, err := tcpAddresses(server)
	noErrors(t, err)
	var all sync.WaitGroup
	for range 4 { // an answer goes to who has asked
		all.Go(func() {
			for range 200 {
				if uid, err := d.owner(far, near); err != nil || uid != ownUID() {
					t.Errorf("uid %d, %v; want %d", uid, err, ownUID())
				}
				if uid, err := d.owner(netip.AddrPortFrom(far.Addr(), 1), near); !errors.Is(err, errPeerUnknown) {
					t.Errorf("nobody's socket is one of uid %d, %v", uid, err)
				}
			}
		})
	}
	all.Wait()
	noErrors(t, client.Close())
	_, _ = io.ReadAll(server) // until the kernel has told us
	if uid, err := d.owner(far, near); !errors.Is(err, errPeerUnknown) {
		t.Errorf("a socket that is closed is one of uid %d, %v", uid, err)
	}
	d.close()
	d.close()
	if _, err := d.owner(far, near); !errors.Is(err, errNoDiag) {
		t.Errorf("after close: %v", err)
	}
}

// TestPeerTCPGone: a peer that closed is nobody. Older kernels show its socket
// as one of root, whichever user it was.
func TestPeerTCPGone(t *testing.T) {
	for _, tc := range []struct {
		name  string
		leave func(c *net.TCPConn) error
		want  error
	}{
		{"closed", (*net.TCPConn).Close, errPeerUnknown},
		{"reset", func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) }, errPeerUnknown},
		{"half closed", (*net.TCPConn).CloseWrite, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server, client := tcpPair(t, "127.0.0.1:0", dialHost("127.0.0.1"))
			noErrors(t, tc.leave(client.(*net.TCPConn)))
			_, _ = io.ReadAll(server) // until the kernel has told us
			if _, err := tcpPeerUID(server); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
		})
	}
}

// TestPeerOnce: the answer is that of the first request of a connection.
func TestPeerOnce(t *testing.T) {
	server, client := tcpPair(t, "127.0.0.1:0", dialHost("127.0.0.1"))
	p := peerOf(withPeer(t.Context(), server))
	if uid, err := p.user(); err != nil || uid != ownUID() {
		t.Fatalf("uid %d, %v", uid, err)
	}
	noErrors(t, client.Close())
	_, _ = io.ReadAll(server)
	if uid, err := p.user(); err != nil || uid != ownUID() {
		t.Errorf("asked again after the peer left: uid %d, %v", uid, err)
	}
	if _, err := peerOf(context.Background()).user(); !errors.Is(err, errPeerUnknown) {
		t.Errorf("no connection at all: %v", err)
	}
}

// TestPeerRows reads a table with one row for each way not to be believed.
func TestPeerRows(t *testing.T) {
	local, remote := netip.MustParseAddrPort("127.0.0.1:45838"), netip.MustParseAddrPort("127.0.0.1:8420")
	tuple := procAddress(local, false) + " " + procAddress(remote, false)
	needle := ": " + tuple + " "
	row := func(addresses, state, uid, inode string) string {
		return fmt.Sprintf("   1: %s %s 00000000:00000000 00:00000000 00000000 %5s        0 %s 1 0000000000000000 20 4 30 10 -1\n", addresses, state, uid, inode)
	}
	other := procAddress(remote, false) + " " + procAddress(local, false)
	for _, tc := range []struct {
		name, table string
		want        []socketRow
		connected   bool
	}{
		{"empty", "", nil, false},
		{"established", row(tuple, "01", "1000", "77"), []socketRow{{procAddress(local, false), 1, 1000, 77}}, true},
		{"our own end", row(other, "01", "1000", "77"), nil, false},
		{"half closed", row(tuple, "05", "1000", "77"), []socketRow{{procAddress(local, false), 5, 1000, 77}}, true},
		{"orphan", row(tuple, "05", "0", "0"), []socketRow{{procAddress(local, false), 5, 0, 0}}, false},
		{"connecting", row(tuple, "02", "1000", "77"), []socketRow{{procAddress(local, false), 2, 1000, 77}}, false},
		{"half-open", row(tuple, "03", "1000", "0"), []socketRow{{procAddress(local, false), 3, 1000, 0}}, false},
		{"forgotten", row(tuple, "06", "0", "0"), []socketRow{{procAddress(local, false), 6, 0, 0}}, false},
		{"cut short", "   1: " + tuple + " 01\n", nil, false},
		{"IPv6 that ends alike", row("00000000000000000000000000000000"+tuple, "01", "1000", "77"), nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := scanSockets(strings.NewReader("  sl  local_address rem_address   st\n"+tc.table), needle)
			noErrors(t, err)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(socketRow{})); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if len(got) == 1 && got[0].connected() != tc.connected {
				t.Errorf("believed: %v, want %v", got[0].connected(), tc.connected)
			}
		})
	}
	if _, err := scanSockets(strings.NewReader(row(tuple, "01", "-1", "77")), needle); err == nil {
		t.Error("a uid of -1 was read")
	}
}

func TestPeerPortOwner(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0"} {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			continue // no IPv6
		}
		port := uint16(l.Addr().(*net.TCPAddr).Port)
		at := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)
		if uid, ok := portOwner(at); !ok || uid != ownUID() {
			t.Errorf("%s: uid %d, %v; want %d", listen, uid, ok, ownUID())
		}
		_, err = ListenTCP(t.Context(), []string{at.String()}, nil, NewShares(nil), slog.New(slog.DiscardHandler))
		want := fmt.Sprintf("listen %s: already in use by uid %d; stop it or set listen", at, ownUID())
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", listen, err, want)
		}
		noErrors(t, l.Close())
		if uid, ok := portOwner(at); ok {
			t.Errorf("%s: closed, but uid %d has it", listen, uid)
		}
	}
}

func TestPeerPortOwnerListens(t *testing.T) {
	_, client := tcpPair(t, "127.0.0.1:0", dialHost("127.0.0.1"))
	if uid, ok := portOwner(client.LocalAddr().(*net.TCPAddr).AddrPort()); ok {
		t.Errorf("a client's port is listened on by uid %d", uid)
	}
}

// childTargets tells the test binary, run again as another user, whom to ask.
const childTargets = "SM_TEST_PEER_TARGETS"

// TestPeerOfAnotherUser lets a process of another uid try every door.
func TestPeerOfAnotherUser(t *testing.T) {
	if targets := os.Getenv(childTargets); targets != "" {
		askAs(t, strings.Split(targets, ","))
		return
	}
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("needs root to run a process as another user")
		}
		t.Skip("needs root to run a process as another user")
	}
	checkLeaks(t)
	p := new(plant)
	socket, tcp := NewHandlers(p.routes(), p.options())
	log := slog.New(slog.DiscardHandler)
	four := serveTCP(t, tcp, nil)
	six := four // unless there is IPv6
	if l, err := ListenTCP(t.Context(), []string{"[::1]:0"}, nil, NewShares(nil), log); err == nil {
		serveUntilEnd(t, NewServer(tcp, log), l[0])
		six = l[0].Addr().(*net.TCPAddr)
	}
	path := shortPath(t)
	l, err := ListenUnix(t.Context(), path, nil)
	noErrors(t, err)
	serveUntilEnd(t, NewServer(socket, log), l)

	tcp4, tcp6 := "tcp!"+four.String(), "tcp!"+six.String()
	targets := []string{tcp4 + "!/seat", tcp4 + "!/open", tcp6 + "!/seat", tcp6 + "!/open", "unix!" + path + "!/open"}
	want := []string{"403", "200", "403", "200", "permission denied"}
	if diff := cmp.Diff(want, runAs(t, 65534, targets)); diff != "" {
		t.Errorf("another user (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"200", "200", "200", "200", "200"}, runAs(t, ownUID(), targets)); diff != "" {
		t.Errorf("our user (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"200", "200"}, runAs(t, allowedUID(), targets[:2])); diff != "" {
		t.Errorf("configured user (-want +got):\n%s", diff)
	}
	// With the file modes out of the way the credentials still keep others out.
	noErrors(t, os.Chmod(path, 0o666), os.Chmod(filepath.Dir(path), 0o755), os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755))
	if diff := cmp.Diff([]string{"403"}, runAs(t, 65534, targets[4:])); diff != "" {
		t.Errorf("another user at an open socket (-want +got):\n%s", diff)
	}
}

// runAs runs this test as uid and returns what it says about each target.
func runAs(t *testing.T, uid uint32, targets []string) []string {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	noErrors(t, err)
	defer self.Close()
	// The binary is in a directory that others cannot enter; through an open
	// descriptor they need not.
	cmd := exec.CommandContext(t.Context(), "/proc/self/fd/3", "-test.run=^TestPeerOfAnotherUser$", "-test.count=1")
	cmd.ExtraFiles = []*os.File{self}
	cmd.Dir = "/"
	cmd.Env = []string{childTargets + "=" + strings.Join(targets, ",")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("run as uid %d: %v\n%s", uid, err, out)
	}
	var said []string
	for line := range strings.Lines(string(out)) {
		if answer, ok := strings.CutPrefix(line, "answer: "); ok {
			said = append(said, strings.TrimSpace(answer))
		}
	}
	return said
}

func askAs(t *testing.T, targets []string) {
	for _, target := range targets {
		part := strings.Split(target, "!")
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, part[0], part[1])
		}
		client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
		host := part[1]
		if part[0] == "unix" {
			host = "sm"
		}
		resp, err := client.Get("http://" + host + part[2])
		if errors.Is(err, os.ErrPermission) {
			fmt.Println("answer: permission denied")
			continue
		}
		noErrors(t, err)
		noErrors(t, resp.Body.Close())
		fmt.Println("answer:", resp.StatusCode)
	}
}

func BenchmarkPeerTCP(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	for b.Loop() {
		if _, err := peerUID(server); err != nil {
			b.Fatal(err)
		}
	}
}
