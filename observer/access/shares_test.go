package access

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shareOf is the share that a test names by a uid, an address, or ?.
func shareOf(name string) shareKey {
	switch {
	case name == "?":
		return shareKey{}
	case strings.Contains(name, "."):
		return shareKey{from: netip.MustParseAddr(name)}
	}
	var uid uint32
	_, _ = fmt.Sscan(name, &uid)
	return shareKey{known: true, uid: uid}
}

// heldConn is a connection that is open until it is closed.
type heldConn struct {
	net.Conn
	name string
	gone *[]string
}

func (c heldConn) Close() error {
	*c.gone = append(*c.gone, c.name)
	return nil
}

// TestSharesAdmit: who comes gets in, and what gives way is the oldest of a share that is full.
func TestSharesAdmit(t *testing.T) {
	small := func() *Shares {
		return &Shares{trusted: []uint32{1, 2}, own: 3, unknown: 2, each: 2, all: 4, open: map[shareKey][]*sharedConn{}, paces: map[shareKey]*pace{}}
	}
	for _, tt := range []struct {
		name string
		come string // the shares of those that come in turn; -N closes the Nth by itself
		want string // the numbers of those that are closed for others
	}{
		{"room for all", "1 1 1 2 2 2 3 3 4 ?", ""},
		{"our own beyond its share", "1 1 1 1 1", "1 2"},
		{"a stranger beyond his share", "3 3 3 3", "1 2"},
		{"the unknown beyond theirs", "? ? ?", "1"},
		{"another machine beyond its share", "10.0.0.1 10.0.0.2 10.0.0.1 10.0.0.1", "1"},
		{"ours come through strangers", "3 3 4 4 1 2 1 2 1 2", ""},
		{"strangers take nothing of ours", "1 2 3 3 3 3 4 4 4 4 ? ? ?", "3 4 7 8 5 9 11"},
		{"a new user finds room", "3 3 4 4 5", "1"},
		{"many users", "3 4 5 6 7 8 9", "1 2 3"},
		{"the largest gives way", "3 4 4 5 6", "2"},
		{"those that end leave room", "3 3 -1 3 -2 -3 3 3", ""},
		{"one that ends twice leaves room once", "3 3 -1 -1 3 3", "2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, n := small(), 0
			var gone, want []string
			var conns []*sharedConn
			for word := range strings.FieldsSeq(tt.come) {
				if i, is := strings.CutPrefix(word, "-"); is {
					var k int
					_, _ = fmt.Sscan(i, &k)
					before := slices.Clone(gone)
					noErrors(t, conns[k-1].Close())
					gone = before
					continue
				}
				n++
				conns = append(conns, s.admit(heldConn{name: fmt.Sprint(n), gone: &gone}, shareOf(word), time.Now()))
			}
			want = strings.Fields(tt.want)
			if diff := cmp.Diff(strings.Join(want, " "), strings.Join(gone, " ")); diff != "" {
				t.Errorf("closed (-want +got):\n%s", diff)
			}
			for _, c := range conns {
				_ = c.Close()
			}
			if len(s.open) != 0 || s.strangers != 0 {
				t.Errorf("after all have ended: %d shares, %d strangers", len(s.open), s.strangers)
			}
		})
	}
}

// TestSharesFewDescriptors: connections leave most of the file descriptors to the rest of the observer.
func TestSharesFewDescriptors(t *testing.T) {
	for _, descriptors := range []uint64{16, 64, 256, 1024, 4096, 1 << 20} {
		s := sharesWithin(nil, descriptors)
		if sum := s.own + s.all; uint64(sum) > max(8, descriptors/2) || s.each < 1 || s.unknown < 1 || s.each > s.all || s.unknown > s.all {
			t.Errorf("of %d descriptors: ours %d, strangers %d, each %d, the unknown %d", descriptors, s.own, s.all, s.each, s.unknown)
		}
	}
}

// TestSharesAtOnce: connections come, end and give way from many goroutines.
func TestSharesAtOnce(t *testing.T) {
	s, start := sharesWithin([]uint32{1}, 1<<20), time.Now()
	for uid := range uint32(40) {
		s.paces[shareKey{known: true, uid: uid}] = &pace{left: 1e6, at: start}
	}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 2000 {
				mine, theirs := net.Pipe()
				c := s.admit(mine, shareKey{known: true, uid: uint32(i*worker) % 40}, start)
				if c == nil {
					t.Error("a connection was turned away")
				} else if i%3 > 0 {
					_ = c.Close()
				}
				_ = theirs.Close()
			}
		})
	}
	all.Wait()
	strangers := 0
	for k, list := range s.open {
		if len(list) > s.limit(k) || len(list) == 0 {
			t.Errorf("%+v has %d connections", k, len(list))
		}
		if !s.trusts(k) {
			strangers += len(list)
		}
	}
	if strangers != s.strangers || strangers > s.all {
		t.Errorf("%d strangers, counted as %d; at most %d", strangers, s.strangers, s.all)
	}
}

// TestSharesPace: who comes too often is turned away, and keeps nobody else out.
func TestSharesPace(t *testing.T) {
	s, start := sharesWithin([]uint32{1}, 1<<20), time.Now()
	come := func(name string, at time.Duration, n int) (admitted int) {
		for range n {
			mine, theirs := net.Pipe()
			if c := s.admit(mine, shareOf(name), start.Add(at)); c != nil {
				admitted++
				_ = c.Close()
			}
			_, _ = mine.Close(), theirs.Close()
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
		{"8", 0, 1, 1}, // nor is another user kept out
		{"?", 0, 1000, strangerBurst},
		{"10.0.0.1", 0, 1000, strangerBurst},
		{"1", 0, 1000, 1000}, // ours
		{"7", time.Second, 1000, strangerRate},
		{"7", time.Second - time.Millisecond, 1, 0}, // a clock that goes back gives nothing
		{"7", time.Hour, 1000, strangerBurst},
	} {
		if got := come(step.name, step.at, step.n); got != step.want {
			t.Errorf("after %v, %d of %s: %d admitted, want %d", step.at, step.n, step.name, got, step.want)
		}
	}
	for i := range 10_000 { // a user may have many uids
		come(fmt.Sprint(100+i), 2*time.Hour+time.Duration(i)*time.Second, 1)
	}
	for i := range 10_000 {
		come(fmt.Sprint(100+i), 5*time.Hour, 1)
	}
	if n := len(s.paces); n > maxStrangers {
		t.Errorf("%d paces are kept", n)
	}
	for name, want := range map[string]int{"100": 1, "99999": 0, "1": 1} {
		if got := come(name, 5*time.Hour, 1); got != want {
			t.Errorf("in a full table %d of %s admitted, want %d", got, name, want)
		}
	}
	if got := come("99999", 6*time.Hour, 1); got != 1 {
		t.Error("nobody gets in after the crowd has gone")
	}
	s.blind = true
	if got := come("?", 7*time.Hour, 1000); got != 1000 {
		t.Errorf("where all are unknown %d of 1000 are admitted", got)
	}
}

// TestSharesKeepAlive: a stranger's connection ends with its answer, whatever that is; ours does not.
func TestSharesKeepAlive(t *testing.T) {
	checkLeaks(t)
	p := new(plant)
	_, h := NewHandlers(p.routes(), p.options())
	for _, trusted := range [][]uint32{nil, {ownUID()}} {
		listeners, err := ListenTCP(t.Context(), []string{"127.0.0.1:0"}, nil, sharesWithin(trusted, 1<<20), slog.New(slog.DiscardHandler))
		noErrors(t, err)
		serveUntilEnd(t, NewServer(h, slog.New(slog.DiscardHandler)), listeners[0])
		a := listeners[0].Addr()
		for path, code := range map[string]int{"/open": 200, "/nothing": 404} {
			resp, _ := newRawClient(t, a).send("GET", "GET "+path+" HTTP/1.1\r\nHost: "+a.String()+"\r\n\r\n")
			known := runtime.GOOS == "linux" // elsewhere we are strangers to ourselves
			if resp.StatusCode != code || resp.Close != (trusted == nil || !known) {
				t.Errorf("%s for a stranger %v: %d, closed %v", path, trusted == nil, resp.StatusCode, resp.Close)
			}
		}
	}
}

// TestSharesListener: a connection of ours has its place, and one that gives way is reset.
func TestSharesListener(t *testing.T) {
	checkLeaks(t)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	noErrors(t, err)
	s := sharesWithin(nil, 1<<20) // so that we are strangers
	s.each, s.unknown = 1, 1
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
	if !isStranger(near1) || !isStranger(near2) {
		t.Error("a connection is not one of strangers")
	}
	if _, err := near1.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("the older one can be read from: %v", err)
	}
	if _, err := far1.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("its peer is not reset: %v", err)
	}
	_, err = io.WriteString(near2, "x")
	noErrors(t, err)
	_, err = io.ReadFull(far2, make([]byte, 1))
	_ = near1.Close() // as net/http does when it meets the end
	noErrors(t, err, near2.Close(), far1.Close(), far2.Close())
	if len(s.open) != 0 {
		t.Errorf("shares after all have ended: %v", s.open)
	}
}
