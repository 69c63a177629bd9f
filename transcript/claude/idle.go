package claude

import (
	"strconv"
	"time"
)

// How clients since 2.1.299 compact while they are idle, read in the program of
// 2.1.330 and observed with it.
const (
	// idleTTL is the lifetime of cache entries with which clients compact while idle.
	idleTTL = "1h"
	// idleLead is how long before the cache expires they do: a tenth of its lifetime.
	idleLead = 6 * time.Minute
	// idleTokens is the smallest context that they compact, unless a variable sets
	// another, which leastIdleTokens bounds.
	idleTokens      = 200_000
	leastIdleTokens = 100_000
)

// IdleCompaction returns when a client that stays idle compacts a context of that many
// tokens. ttl and expires are those of its prompt cache by the status line. It is the
// zero time if the client does not.
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
