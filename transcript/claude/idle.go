package claude

import (
	"strconv"
	"time"
)

// The rules by which clients since 2.1.299 compact while they are idle, read in
// the program of 2.1.330 and observed with it.
const (
	// idleTTL is the lifetime of cache entries with which clients compact while idle.
	idleTTL = "1h"
	// idleLead is how long before the cache expires clients compact: a tenth of
	// its lifetime.
	idleLead = 6 * time.Minute
	// idleTokens is the smallest context that clients compact, unless a
	// variable sets another size, of at least leastIdleTokens.
	idleTokens      = 200_000
	leastIdleTokens = 100_000
)

// IdleCompaction returns the time at which a client that stays idle compacts a
// context of that many tokens, the zero time if it does not. ttl and expires
// are those of its prompt cache according to the status line.
func (a *AutoCompact) IdleCompaction(tokens int64, ttl string, expires time.Time) time.Time {
	least := int64(idleTokens)
	if n, err := strconv.ParseInt(a.IdleMin, 10, 64); err == nil {
		least = max(n, leastIdleTokens)
	}

	if a.Off || a.IdleOff || ttl != idleTTL || expires.IsZero() || tokens < least {
		return time.Time{}
	}
	return expires.Add(-idleLead)
}
