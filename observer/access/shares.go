package access

import (
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A share is the number of connections that one user, or one other machine, may
// have open at once. Every process of this machine can connect to loopback and
// keep its connections open, so with one common limit any user could block us.
// In a full share the oldest connection is closed for the new one: an answer
// takes milliseconds.
const (
	ownShare      = 256 // of our own uid, and of each in http.allowed_uids
	unknownShare  = 64  // of all whose uid the system does not report
	strangerShare = 16  // of each other uid, or machine
	maxStrangers  = 256 // of all but our own and the allowed

	// strangerRate is how many new connections a second a stranger's share
	// accepts on average, strangerBurst how many at once. Each connection may
	// request all of /metrics.
	strangerRate  = 50
	strangerBurst = 64
)

// A shareKey identifies the share of a uid, of another machine, or, if both are
// unset, of all connections whose uid is unknown.
type shareKey struct {
	known bool // uid is set
	uid   uint32
	from  netip.Addr // another machine's
}

// Shares has the connections of some listeners together.
type Shares struct {
	own     int
	unknown int
	each    int
	all     int
	blind   bool // the system reports no uids, so our own is unknown, too

	mu      sync.Mutex
	trusted []uint32      // our uid and the allowed ones
	open    []*sharedConn // the oldest first
	rates   map[shareKey]*rate.Limiter
}

// NewShares returns shares that always accept connections of our own uid and of
// the allowed ones.
func NewShares(allowed []uint32) *Shares {
	s := &Shares{
		own:     ownShare,
		unknown: unknownShare,
		each:    strangerShare,
		all:     maxStrangers,
		rates:   map[shareKey]*rate.Limiter{},
	}
	s.Allow(allowed)
	return s
}

// Allow replaces the allowed uids, and closes the connections of users whose
// status has changed.
func (s *Shares) Allow(uids []uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trusted = append([]uint32{uint32(os.Geteuid())}, uids...)
	for _, c := range slices.Clone(s.open) {
		if c.stranger == s.trusts(c.key) {
			s.drop(c)
		}
	}
}

// trusts reports whether a share belongs to our own uid or an allowed one.
func (s *Shares) trusts(k shareKey) bool {
	return k.known && slices.Contains(s.trusted, k.uid)
}

// admit adds a new connection, and closes an older one if the limit is reached:
// the oldest of its share, or of the largest share of strangers. It returns nil
// if a stranger connects too often.
func (s *Shares) admit(c *net.TCPConn, k shareKey, now time.Time) *sharedConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	stranger := !s.trusts(k)
	if stranger && !s.withinRate(k, now) {
		return nil
	}
	limit := s.each
	switch {
	case !stranger:
		limit = s.own
	case k == shareKey{}:
		limit = s.unknown
	}
	sizes := map[shareKey]int{}
	var strangers []*sharedConn
	for _, c := range s.open {
		sizes[c.key]++
		if c.stranger {
			strangers = append(strangers, c)
		}
	}
	switch {
	case sizes[k] >= limit:
		i := slices.IndexFunc(s.open, func(c *sharedConn) bool { return c.key == k })
		s.drop(s.open[i])
	case stranger && len(strangers) >= s.all:
		s.drop(slices.MaxFunc(strangers, func(a, b *sharedConn) int {
			return sizes[a.key] - sizes[b.key]
		})) // the first of equals, thus the oldest
	}

	conn := &sharedConn{
		TCPConn:  c,
		shares:   s,
		key:      k,
		stranger: stranger,
	}
	s.open = append(s.open, conn)
	return conn
}

// withinRate reports whether a stranger's share may have another connection
// now.
func (s *Shares) withinRate(k shareKey, now time.Time) bool {
	if k == (shareKey{}) && s.blind {
		return true
	}
	limiter := s.rates[k]
	if limiter == nil {
		maps.DeleteFunc(s.rates, func(_ shareKey, l *rate.Limiter) bool {
			return l.TokensAt(now) >= strangerBurst
		})
		// Many uids or addresses of one user would each begin with a burst.
		if len(s.rates) >= maxStrangers {
			return false
		}
		limiter = rate.NewLimiter(strangerRate, strangerBurst)
		s.rates[k] = limiter
	}
	return limiter.AllowN(now, 1)
}

// drop resets a connection to make room.
func (s *Shares) drop(c *sharedConn) {
	s.remove(c)
	reset(c.TCPConn)
}

// remove removes a connection from its share, if it is still there.
func (s *Shares) remove(c *sharedConn) {
	s.open = slices.DeleteFunc(s.open, func(other *sharedConn) bool { return other == c })
}

// reset closes a connection without leaving state in the kernel.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close() // net/http closes it again after a read error
}

// A sharedConn is a connection that counts in a share until it is closed.
type sharedConn struct {
	*net.TCPConn
	shares   *Shares
	key      shareKey
	stranger bool
}

func (c *sharedConn) Close() error {
	c.shares.mu.Lock()
	c.shares.remove(c)
	c.shares.mu.Unlock()
	return c.TCPConn.Close()
}

// A sharedListener counts each connection in its share.
type sharedListener struct {
	*net.TCPListener
	shares *Shares
}

// Listener wraps l, a *net.TCPListener, so that its connections count in s.
func (s *Shares) Listener(l net.Listener) net.Listener {
	address, _ := l.Addr().(*net.TCPAddr)
	_, found := portOwner(address.AddrPort())
	s.blind = !found
	return &sharedListener{TCPListener: l.(*net.TCPListener), shares: s}
}

func (l *sharedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			return nil, err
		}
		if conn := l.shares.admit(c, keyOf(c), time.Now()); conn != nil {
			return conn, nil
		}
		reset(c)
	}
}

// keyOf returns the share of a connection.
func keyOf(c *net.TCPConn) shareKey {
	local, _ := c.LocalAddr().(*net.TCPAddr)
	remote, _ := c.RemoteAddr().(*net.TCPAddr)
	near := local.AddrPort().Addr().Unmap()
	far := remote.AddrPort().Addr().Unmap()
	if !far.IsLoopback() && far != near {
		return shareKey{from: far}
	}
	uid, known := tcpPeerUID(c)
	return shareKey{known: known, uid: uid}
}
