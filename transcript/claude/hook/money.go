package hook

// Cost is the member cost, as far as sm reads it: the client's own figure in US
// dollars. A client that resumes a session continues from the session's old
// total, or from 0.
type Cost struct {
	TotalUSD Figure[float64] `json:"total_cost_usd,omitzero"`
}

// RateLimits is the member rate_limits of clients with a subscription.
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

// PromptCache is the member prompt_cache, as far as sm reads it, of clients
// since 2.1.328.
type PromptCache struct {
	// HitRatio is the share of all input that was read from the cache, 0 to 1.
	HitRatio Figure[float64] `json:"hit_ratio,omitzero"`
	// TTL is the lifetime of an entry, 5m or 1h.
	TTL string `json:"ttl,omitempty"`
	// ExpiresAt is when the newest entry expires, in seconds since 1970.
	ExpiresAt Figure[int64] `json:"expires_at,omitzero"`
}
