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

// PromptCache is the member prompt_cache, as far as we read it; clients have it since
// 2.1.328. The ratio, 0 to 1, is what was read from the cache of all input.
type PromptCache struct {
	HitRatio Figure[float64] `json:"hit_ratio,omitzero"`
}

// maxCost is the largest total that clients themselves take for one, in US dollars; no
// other figure here is as large.
const maxCost = 1e9

func cost(raw []byte) (c Cost) {
	figures(raw, map[string]*Figure[float64]{"total_cost_usd": &c.TotalUSD}, maxCost)
	return c
}

func promptCache(raw []byte) (c PromptCache) {
	figures(raw, map[string]*Figure[float64]{"hit_ratio": &c.HitRatio}, maxCost)
	return c
}

func rateLimits(raw []byte) (l RateLimits) {
	err := members(raw, func(key string, raw []byte) {
		switch key {
		case "five_hour":
			l.FiveHour = rateLimit(raw)
		case "seven_day":
			l.SevenDay = rateLimit(raw)
		}
	})
	if err != nil {
		return RateLimits{}
	}
	return l
}

func rateLimit(raw []byte) (l RateLimit) {
	err := members(raw, func(key string, raw []byte) {
		switch key {
		case "used_percentage":
			l.UsedPercentage = figureOf(raw, numberOf)
		case "resets_at":
			l.ResetsAt = figureOf(raw, wholeOf)
		}
	})
	if err != nil {
		return RateLimit{}
	}
	return l
}

// figures reads members of an object, each 0 to most; a larger one is none.
func figures(raw []byte, to map[string]*Figure[float64], most float64) {
	read := map[string]Figure[float64]{}
	err := members(raw, func(key string, raw []byte) {
		read[key] = figureOf(raw, func(raw []byte) (float64, bool) {
			n, ok := numberOf(raw)
			return n, ok && n <= most
		})
	})
	if err != nil {
		return
	}
	for key, f := range to {
		*f = read[key]
	}
}
