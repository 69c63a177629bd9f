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
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// tcpPair returns a TCP connection within this process over network: the server's end and the
// client's.
func tcpPair(
	t *testing.T,
	listen string,
	dial func(port int) (net.Conn, error),
) (server *net.TCPConn, client net.Conn) {
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
	t.Cleanup(func() {
		_ = c.Close()
		_ = client.Close()
	})
	return c.(*net.TCPConn), client
}

func dialHost(host string) func(int) (net.Conn, error) {
	return func(port int) (net.Conn, error) {
		return net.Dial(
			"tcp",
			net.JoinHostPort(host, fmt.Sprint(port)),
		)
	}
}

// dialMapped connects an IPv6 socket to an IPv4 address, which package net never does.
func dialMapped(port int) (net.Conn, error) {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	to := &unix.SockaddrInet6{
		Port: port,
		Addr: netip.MustParseAddr("::ffff:127.0.0.1").As16(),
	}
	if err := unix.Connect(fd, to); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	f := os.NewFile(uintptr(fd), "mapped")
	defer f.Close()
	return net.FileConn(f)
}

// dialBound connects a socket that is bound to the loopback interface.
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
			needsPeers(t)
			if uid, known := tcpPeerUID(server); !known || uid != ownUID() {
				t.Errorf("uid %d, %v; want %d", uid, known, ownUID())
			}
		})
	}
}

// needsPeers skips the test where the kernel does not identify peers.
func needsPeers(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noErrors(t, err)
	defer l.Close()
	if _, ok := portOwner(l.Addr().(*net.TCPAddr).AddrPort()); !ok {
		t.Skip("no sock_diag here")
	}
}

// TestPeerTCPGone tests that a peer that has closed its socket is unknown. The kernel reports
// it as root's.
func TestPeerTCPGone(t *testing.T) {
	for _, tc := range []struct {
		name  string
		leave func(c *net.TCPConn) error
		want  bool
	}{
		{"closed", (*net.TCPConn).Close, false},
		{
			"reset",
			func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) },
			false,
		},
		{"half closed", (*net.TCPConn).CloseWrite, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server, client := tcpPair(t, "127.0.0.1:0", dialHost("127.0.0.1"))
			noErrors(t, tc.leave(client.(*net.TCPConn)))
			_, _ = io.ReadAll(server) // until the connection has ended
			needsPeers(t)
			if _, known := tcpPeerUID(server); known != tc.want {
				t.Errorf("known: got %v, want %v", known, tc.want)
			}
		})
	}
}

func TestPeerPortOwner(t *testing.T) {
	needsPeers(t)
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
		_, err = listenAt(t, new(Passed), NewShares(nil), at.String())
		want := fmt.Sprintf(
			"listen %s: already in use by uid %d; stop it or set listen",
			at,
			ownUID(),
		)
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", listen, err, want)
		}
		noErrors(t, l.Close())
		if uid, ok := portOwner(at); ok {
			t.Errorf("%s: closed, but known as uid %d", listen, uid)
		}
	}
}

// childTargets is the variable with the requests of the test binary when it runs again as
// another user.
const childTargets = "SM_TEST_PEER_TARGETS"

// TestPeerOfAnotherUser sends requests from a process of another uid.
func TestPeerOfAnotherUser(t *testing.T) {
	if targets := os.Getenv(childTargets); targets != "" {
		sendAll(t, strings.Split(targets, ","))
		return
	}
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("needs root to run a process as another user")
		}
		t.Skip("needs root to run a process as another user")
	}
	_, socket, tcp := newGate()
	log := slog.New(slog.DiscardHandler)
	four := serveTCP(t, tcp, nil)
	six := four // unless there is IPv6
	if l, err := listenAt(t, new(Passed), NewShares(nil), "[::1]:0"); err == nil {
		serveUntilEnd(t, NewServer(tcp, log), l[0])
		six = l[0].Addr()
	}
	path := shortPath(t)
	l, err := ListenUnix(t.Context(), path, new(Passed))
	noErrors(t, err)
	serveUntilEnd(t, NewServer(socket, log), l)

	tcp4 := "tcp!" + four.String()
	tcp6 := "tcp!" + six.String()
	targets := []string{
		tcp4 + "!/seat",
		tcp4 + "!/open",
		tcp6 + "!/seat",
		tcp6 + "!/open",
		"unix!" + path + "!/open",
	}
	want := []string{"403", "200", "403", "200", "permission denied"}
	if diff := cmp.Diff(want, runAs(t, 65534, targets)); diff != "" {
		t.Errorf("another user (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(
		[]string{"200", "200", "200", "200", "200"},
		runAs(t, ownUID(), targets),
	); diff != "" {
		t.Errorf("our user (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(
		[]string{"200", "200"},
		runAs(t, allowedUID(), targets[:2]),
	); diff != "" {
		t.Errorf("configured user (-want +got):\n%s", diff)
	}
	// Even with open file modes, credentials refuse other users.
	noErrors(
		t,
		os.Chmod(path, 0o666),
		os.Chmod(filepath.Dir(path), 0o755),
		os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755),
	)
	if diff := cmp.Diff([]string{"403"}, runAs(t, 65534, targets[4:])); diff != "" {
		t.Errorf("another user at an open socket (-want +got):\n%s", diff)
	}
}

// runAs runs this test as uid and returns the answers of the targets.
func runAs(t *testing.T, uid uint32, targets []string) []string {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	noErrors(t, err)
	defer self.Close()
	// The binary is in a directory that others cannot enter; an open descriptor works.
	cmd := exec.CommandContext(
		t.Context(),
		"/proc/self/fd/3",
		"-test.run=^TestPeerOfAnotherUser$",
		"-test.count=1",
	)
	cmd.ExtraFiles = []*os.File{self}
	cmd.Dir = "/"
	cmd.Env = []string{childTargets + "=" + strings.Join(targets, ",")}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uid, Gid: uid},
	}
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

func sendAll(t *testing.T, targets []string) {
	for _, target := range targets {
		part := strings.Split(target, "!")
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, part[0], part[1])
		}
		client := &http.Client{
			Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
		}
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
