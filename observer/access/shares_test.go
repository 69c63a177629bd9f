package access

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shareOf returns the share with a name: a uid, an address, or ?.
func shareOf(name string) shareKey {
	switch {
	case name == "?":
		return shareKey{}
	case strings.Contains(name, "."):
		return shareKey{from: netip.MustParseAddr(name)}
	}
	uid, _ := strconv.Atoi(name)
	return shareKey{known: true, uid: uint32(uid)}
}

// TestSharesAdmit tests that every connection is accepted, and the oldest of a full share is
// closed. A line has the shares of new connections, where -N closes the Nth, and the numbers
// of those that are closed for others.
func TestSharesAdmit(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(`1 1 1 2 2 2 3 3 4 ?, - # room for all
1 1 1 1 1, 1 2 # our own beyond its share
3 3 3 3, 1 2 # another user beyond their share
? ? ?, 1 # the unknown beyond theirs
10.0.0.1 10.0.0.2 10.0.0.1 10.0.0.1, 1 # another machine beyond its share
3 3 4 4 1 2 1 2 1 2, - # the observer's user connects in spite of others
1 2 3 3 3 3 4 4 4 4 ? ? ?, 3 4 5 7 8 9 11 # other users do not take the share of the observer's
3 4 5 6 7 8 9, 1 2 3 # many users
3 4 4 5 6, 2 # the largest gives way
3 3 -1 3 -2 -3 3 3, - # those that end leave room
3 3 -1 -1 3 3, 2 # one that ends twice leaves room once
`) {
		line, name, _ := strings.Cut(line, " # ")
		come, want, _ := strings.Cut(line, ", ")
		s := NewShares(nil)
		s.trusted = []uint32{1, 2}
		s.own = 3
		s.unknown = 2
		s.each = 2
		s.all = 4
		var conns []*sharedConn
		closed := map[int]bool{}
		for word := range strings.FieldsSeq(come) {
			if i, ok := strings.CutPrefix(word, "-"); ok {
				k, _ := strconv.Atoi(i)
				_ = conns[k-1].Close()
				closed[k-1] = true
				continue
			}
			conns = append(conns, s.admit(&net.TCPConn{}, shareOf(word), time.Now()))
		}
		var dropped []string
		for i, c := range conns {
			if !closed[i] && !slices.Contains(s.open, c) {
				dropped = append(dropped, fmt.Sprint(i+1))
			}
			_ = c.Close()
		}
		if got := cmp.Or(strings.Join(dropped, " "), "-"); got != want {
			t.Errorf("%s dropped %q, want %q", name, got, want)
		}
		if len(s.open) != 0 {
			t.Errorf("%s: got %d open at the end, want 0", name, len(s.open))
		}
	}
}

// TestSharesRate tests that a user who connects too often is rejected, and no other user is.
func TestSharesRate(t *testing.T) {
	t.Parallel()
	s := NewShares(nil)
	s.trusted = []uint32{1}
	start := time.Now()
	connect := func(name string, at time.Duration, n int) (admitted int) {
		for range n {
			if c := s.admit(&net.TCPConn{}, shareOf(name), start.Add(at)); c != nil {
				admitted++
				_ = c.Close()
			}
		}
		return admitted
	}
	for _, step := range []struct {
		name string
		at   time.Duration
		n    int
		want int
	}{
		{"7", 0, 1000, strangerBurst},
		{"8", 0, 1, 1},
		{"?", 0, 1000, strangerBurst},
		{"10.0.0.1", 0, 1000, strangerBurst},
		{"1", 0, 1000, 1000}, // the observer's user
		{"7", time.Second, 1000, strangerRate},
		{"7", time.Hour, 1000, strangerBurst},
	} {
		if got := connect(step.name, step.at, step.n); got != step.want {
			t.Errorf(
				"after %v, %d of %s: %d admitted, want %d",
				step.at,
				step.n,
				step.name,
				got,
				step.want,
			)
		}
	}

	admitted := 0
	for i := range 1000 { // a user may have many uids
		admitted += connect(fmt.Sprint(100+i), 2*time.Hour, 1)
	}
	if admitted > maxStrangers || len(s.rates) > maxStrangers {
		t.Errorf("%d of 1000 uids admitted, %d rates kept", admitted, len(s.rates))
	}
	if connect("1", 2*time.Hour, 1) != 1 || connect("99999", 3*time.Hour, 1) != 1 {
		t.Error("many uids block another one")
	}
	s.blind = true
	if got := connect("?", 4*time.Hour, 1000); got != 1000 {
		t.Errorf("unknown uids: %d of 1000 admitted", got)
	}
}

// TestSharesKeepAlive tests that another user's connection ends after its answer, and one of
// the observer's user does not.
func TestSharesKeepAlive(t *testing.T) {
	t.Parallel()
	_, _, h := newGate()
	for _, trusted := range [][]uint32{nil, {ownUID()}} {
		shares := NewShares(nil)
		shares.trusted = trusted
		l := listenTCP(t, shares)
		serveUntilEnd(t, NewServer(h, slog.New(slog.DiscardHandler)), l)
		for path, code := range map[string]int{"/open": 200, "/nothing": 404} {
			resp, _ := newRawClient(
				t,
				l.Addr(),
			).send("GET " + path + " HTTP/1.1 | Host: HOST")
			known := runtime.GOOS == "linux" // on other systems users are unknown
			if resp.StatusCode != code || resp.Close != (trusted == nil || !known) {
				t.Errorf(
					"%s for another user %v: %d, closed %v",
					path,
					trusted == nil,
					resp.StatusCode,
					resp.Close,
				)
			}
		}
	}
}

// TestSharesListener tests that a connection that is closed for another one is reset.
func TestSharesListener(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	noErrors(t, err)
	s := NewShares(nil)
	s.trusted = nil // so that this user is not trusted
	s.each = 1
	s.unknown = 1
	l := s.Listener(inner)
	defer l.Close()
	dial := func() (near, far net.Conn) {
		far, err := net.Dial("tcp", l.Addr().String())
		noErrors(t, err)
		near, err = l.Accept()
		noErrors(t, err)
		return near, far
	}
	near1, far1 := dial()
	near2, far2 := dial()
	if _, err := near1.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("read from the older one: %v", err)
	}
	if _, err := far1.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("peer: got %v, want a reset", err)
	}
	_, err = io.WriteString(near2, "x")
	noErrors(t, err)
	_, err = io.ReadFull(far2, make([]byte, 1))
	_ = near1.Close() // as net/http does at the end of the connection
	noErrors(t, err, near2.Close(), far1.Close(), far2.Close())
	if len(s.open) != 0 {
		t.Errorf("shares at the end: %v", s.open)
	}
}
