package hook

// Cost is the member cost, as far as we read it: what the client reckons in US dollars.
// A client that resumes a session goes on from the session's old total, or from 0.
type Cost struct {
	TotalUSD Figure[float64] `json:"total_cost_usd,omitzero"`
}

// RateLimits is the member rate_limits, which clients of subscribers have.
type RateLimits struct {
	FiveHour RateLimit `json:"five_hour,omitzero"`
	SevenDay RateLimit `json:"seven_day,omitzero"`
}

// RateLimit is one window of an account's limits.
type RateLimit struct {
	// UsedPercentage is 0 to 100 and may be more; ResetsAt is in seconds since 1970.
	UsedPercentage Figure[float64] `json:"used_percentage,omitzero"`
	ResetsAt       Figure[int64]   `json:"resets_at,omitzero"`
}

// PromptCache is the member prompt_cache, as far as sm reads it; clients have it since
// 2.1.328.
type PromptCache struct {
	// HitRatio is the share of all input that was read from the cache, 0 to 1.
	HitRatio Figure[float64] `json:"hit_ratio,omitzero"`
	// TTL is how long an entry lives, 5m or 1h.
	TTL string `json:"ttl,omitempty"`
	// ExpiresAt is when the newest entry expires, in seconds since 1970.
	ExpiresAt Figure[int64] `json:"expires_at,omitzero"`
}

// maxCost is the largest total that clients themselves take for one, in US dollars; no
// other figure here is as large.
const maxCost = 1e9

func (c *Cost) set(key string, raw []byte) {
	if key == "total_cost_usd" {
		c.TotalUSD = figureOf(raw, moneyOf)
	}
}

func (c *PromptCache) set(key string, raw []byte) {
	switch key {
	case "hit_ratio":
		c.HitRatio = figureOf(raw, moneyOf)
	case "ttl":
		c.TTL = Word(raw, maxWord)
	case "expires_at":
		c.ExpiresAt = figureOf(raw, Whole)
	}
}

func (l *RateLimits) set(key string, raw []byte) {
	switch key {
	case "five_hour":
		_ = decode(&l.FiveHour, raw, l.FiveHour.set)
	case "seven_day":
		_ = decode(&l.SevenDay, raw, l.SevenDay.set)
	}
}

func (l *RateLimit) set(key string, raw []byte) {
	switch key {
	case "used_percentage":
		l.UsedPercentage = figureOf(raw, numberOf)
	case "resets_at":
		l.ResetsAt = figureOf(raw, Whole)
	}
}

// moneyOf reads a number from 0 to maxCost.
func moneyOf(raw []byte) (float64, bool) {
	n, ok := numberOf(raw)
	return n, ok && n <= maxCost
}
