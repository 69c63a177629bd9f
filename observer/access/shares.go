package access

import (
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A share is how many connections of one user, or of one other machine, may be open at once. Every process of this
// machine can connect to loopback and hold what it gets, so one limit for all would let any user keep ours out.
// In a share that is full the oldest connection gives way to the new one: an answer takes milliseconds, and what
// is held for longer is held for nothing.
const (
	ownShare      = 256 // of our own uid, and of each in http.allowed_uids
	unknownShare  = 64  // of all whose uid the system does not say
	strangerShare = 16  // of each other uid, or machine
	maxStrangers  = 256 // of all but our own and the allowed

	// strangerRate is how many new connections a second a stranger's share takes in the long run, strangerBurst how
	// many at once. Each may ask for all of /metrics.
	strangerRate  = 50
	strangerBurst = 64
)

// A shareKey is whose share a connection belongs to: that of a uid, of another machine, or, with neither, of all that
// are unknown.
type shareKey struct {
	known bool // uid is
	uid   uint32
	from  netip.Addr // another machine's
}

// Shares are the connections of some listeners together.
type Shares struct {
	own     int // ownShare and the others, or less where there are few descriptors
	unknown int
	each    int
	all     int
	blind   bool // the system reports no uids, so this user is among the unknown

	mu        sync.Mutex
	trusted   []uint32                   // uids that have room whatever strangers do
	open      map[shareKey][]*sharedConn // the oldest first
	strangers int
	admitted  uint64
	paces     map[shareKey]*pace
}

// A pace says how many more connections a share takes now.
type pace struct {
	left float64
	at   time.Time
}

// NewShares makes shares for the file descriptors that this process may have. Connections of our own uid and of the
// allowed ones always find room.
func NewShares(allowed []uint32) *Shares {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		limit.Cur = 1024
	}
	return sharesWithin(append([]uint32{uint32(os.Geteuid())}, allowed...), uint64(limit.Cur))
}

// sharesWithin makes shares that leave at least half of the descriptors to the rest of the process.
func sharesWithin(trusted []uint32, descriptors uint64) *Shares {
	quarter := max(4, int(min(descriptors, 1<<20)/4))
	return &Shares{
		trusted: trusted, open: map[shareKey][]*sharedConn{}, paces: map[shareKey]*pace{},
		own: min(quarter, ownShare), all: min(quarter, maxStrangers),
		unknown: min(quarter/2, unknownShare), each: min(quarter/2, strangerShare),
	}
}

// Allow changes whose connections always find room besides those of our own uid. Connections of users who are allowed now
// and were not, or the other way round, are closed.
func (s *Shares) Allow(uids []uint32) {
	s.mu.Lock()
	s.trusted = append([]uint32{uint32(os.Geteuid())}, uids...)
	var other []*sharedConn
	for k, list := range s.open {
		if list[0].stranger == s.trusts(k) {
			other = append(other, list...)
		}
	}
	for _, c := range other {
		s.forget(c)
	}
	s.mu.Unlock()
	for _, c := range other {
		c.drop()
	}
}

// trusts reports whether a share is of the observer's uid or an allowed one.
func (s *Shares) trusts(k shareKey) bool { return k.known && slices.Contains(s.trusted, k.uid) }

func (s *Shares) limit(k shareKey) int {
	switch {
	case s.trusts(k):
		return s.own
	case k == shareKey{}:
		return s.unknown
	}
	return s.each
}

// admit counts a new connection, and closes an older one where there is no room for both. It returns nil for one of a
// stranger who comes too often.
func (s *Shares) admit(c net.Conn, k shareKey, now time.Time) *sharedConn {
	conn := &sharedConn{key: k}
	conn.limitedConn = limitedConn{Conn: c, release: sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forget(conn)
	})}
	s.mu.Lock()
	conn.stranger = !s.trusts(k)
	if conn.stranger && !s.keepsPace(k, now) {
		s.mu.Unlock()
		return nil
	}
	s.admitted++
	conn.number = s.admitted
	var oldest *sharedConn
	switch {
	case len(s.open[k]) >= s.limit(k):
		oldest = s.open[k][0]
	case conn.stranger && s.strangers >= s.all:
		oldest = s.open[s.largest()][0]
	}
	if oldest != nil {
		s.forget(oldest)
	}
	s.open[k] = append(s.open[k], conn)
	if conn.stranger {
		s.strangers++
	}
	s.mu.Unlock()
	if oldest != nil {
		oldest.drop()
	}
	return conn
}

// keepsPace reports whether the share of a stranger may have another connection now.
func (s *Shares) keepsPace(k shareKey, now time.Time) bool {
	const whole = strangerBurst * time.Second / strangerRate // after this a pace is as good as new
	if k == (shareKey{}) && s.blind {
		return true
	}
	p := s.paces[k]
	if p == nil {
		if len(s.paces) >= maxStrangers {
			maps.DeleteFunc(s.paces, func(_ shareKey, p *pace) bool { return now.Sub(p.at) >= whole })
		}
		if len(s.paces) >= maxStrangers { // someone has many uids or addresses; each would begin with a burst
			return false
		}
		p = &pace{left: strangerBurst, at: now}
		s.paces[k] = p
	}
	if passed := now.Sub(p.at); passed > 0 {
		p.left, p.at = min(strangerBurst, p.left+passed.Seconds()*strangerRate), now
	}
	if p.left < 1 {
		return false
	}
	p.left--
	return true
}

// largest is the share of strangers with the most connections; of several, the one with the oldest.
func (s *Shares) largest() (most shareKey) {
	n, first := 0, uint64(0)
	for k, list := range s.open {
		if !s.trusts(k) && (len(list) > n || len(list) == n && list[0].number < first) {
			most, n, first = k, len(list), list[0].number
		}
	}
	return most
}

// forget takes a connection out of its share, once.
func (s *Shares) forget(c *sharedConn) {
	list := s.open[c.key]
	i := slices.Index(list, c)
	if i < 0 {
		return
	}
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(s.open, c.key)
	} else {
		s.open[c.key] = list
	}
	if c.stranger {
		s.strangers--
	}
}

// A sharedConn is a connection that counts in a share until it is closed.
type sharedConn struct {
	limitedConn
	key      shareKey
	stranger bool
	number   uint64 // in the order of arrival
}

// drop closes a connection whose peer has had its time.
func (c *sharedConn) drop() {
	resetOnClose(c.Conn)
	_ = c.Close() // net/http closes it too when it meets the end
}

// resetOnClose makes Close leave nothing of a connection in the kernel.
func resetOnClose(c net.Conn) {
	if tcp, ok := c.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0)
	}
}

// A sharedListener accepts every connection and gives it a place in its share.
type sharedListener struct {
	net.Listener
	shares      *Shares
	find        uidFinder
	closeFinder func()
}

// Listener puts the connections of l into shares.
func (s *Shares) Listener(l net.Listener) net.Listener {
	find, closeFinder := acceptFinder(l)
	s.blind = find == nil
	return &sharedListener{Listener: l, shares: s, find: find, closeFinder: closeFinder}
}

func (l *sharedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if conn := l.shares.admit(c, l.whose(c), time.Now()); conn != nil {
			return conn, nil
		}
		resetOnClose(c)
		_ = c.Close()
	}
}

func (l *sharedListener) Close() error {
	defer l.closeFinder()
	return l.Listener.Close()
}

// whose is the share of a connection.
func (l *sharedListener) whose(c net.Conn) shareKey {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return shareKey{}
	}
	if from, far := otherMachine(tcp); far {
		return shareKey{from: from}
	}
	uid, err := tcpPeerUIDBy(tcp, l.find)
	if err != nil {
		return shareKey{}
	}
	return shareKey{known: true, uid: uid}
}

// otherMachine is the address of a peer that has no socket on this machine.
func otherMachine(c *net.TCPConn) (netip.Addr, bool) {
	l, lok := c.LocalAddr().(*net.TCPAddr)
	r, rok := c.RemoteAddr().(*net.TCPAddr)
	if !lok || !rok {
		return netip.Addr{}, false
	}
	near, far := l.AddrPort().Addr().Unmap(), r.AddrPort().Addr().Unmap()
	return far, !far.IsLoopback() && far != near
}

// isStranger reports whether a connection counts as a stranger's. Only listeners with shares know.
func isStranger(c net.Conn) bool {
	switch c := c.(type) {
	case *sharedConn:
		return c.stranger
	case interface{ NetConn() net.Conn }:
		return isStranger(c.NetConn())
	}
	return false
}
