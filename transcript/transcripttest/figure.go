package transcripttest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"
)

const (
	// maxFigure cuts off figures that no API reports.
	maxFigure = 1_000_000_000
	// syntheticModel is named in rows that the client writes by itself.
	syntheticModel = "<synthetic>"
)

// object is a JSON object, its keys case-exact, the last of equal keys kept.
type object map[string]json.RawMessage

// decoded is the JSON in raw, none unless it begins with that character.
func decoded[T any](raw []byte, first byte) (v T) {
	if len(raw) == 0 || raw[0] != first || json.Unmarshal(raw, &v) != nil {
		return *new(T)
	}
	return v
}

// objectOf decodes raw, which may be a whole line; anything but one object gives
// nil.
func objectOf(raw []byte) object { return decoded[object](bytes.TrimLeft(raw, " \t\r\n"), '{') }

// listOf decodes raw; anything but an array gives nil.
func listOf(raw []byte) []json.RawMessage { return decoded[[]json.RawMessage](raw, '[') }

// text is the string at key, empty when there is none.
func (o object) text(key string) string { return decoded[string](o[key], '"') }

// yes reports whether key holds the literal true.
func (o object) yes(key string) bool { return string(o[key]) == "true" }

// figure is the token count at key: a whole number in any spelling, negative ones
// as 0, those beyond a thousand million as that; anything else is 0.
func (o object) figure(key string) int64 {
	raw := o[key]
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil && !math.IsInf(f, 0), f != math.Trunc(f), f < 0:
		return 0
	case f > maxFigure:
		return maxFigure
	}
	return int64(f)
}

// when is the RFC 3339 timestamp, zero when there is none or it lies outside what
// nanoseconds since 1970 can hold.
func (o object) when() time.Time {
	t, err := time.Parse(time.RFC3339, o.text("timestamp"))
	if err != nil || !t.After(time.Unix(0, 0)) || t.UTC().Year() > 2261 {
		return time.Time{}
	}
	return t.UTC()
}

// tokens are the figures of a usage object.
func (o object) tokens() Tokens {
	nested := objectOf(o["cache_creation"])
	deep := nested.figure("ephemeral_5m_input_tokens") + nested.figure("ephemeral_1h_input_tokens")
	return Tokens{
		Input:         o.figure("input_tokens"),
		CacheCreation: min(max(o.figure("cache_creation_input_tokens"), deep), maxFigure),
		CacheRead:     o.figure("cache_read_input_tokens"),
		Output:        o.figure("output_tokens"),
	}
}

// usage is what a message cost in all, and the size of the context at its last
// call: a message of several calls lists them, and sums them up at the top.
func (o object) usage() (cost Tokens, context int64) {
	cost = o.tokens()
	context = cost.Context()
	calls := listOf(o["iterations"])
	for _, raw := range slices.Backward(calls) {
		call := objectOf(raw)
		kind := call.text("type")
		if kind == "advisor_message" || kind == "compaction" {
			continue
		}
		if (kind == "message" || kind == "fallback_message") && call.answered() {
			context = call.tokens().Context()
		}
		break
	}
	return cost, context
}

// answered reports whether a call names all four figures, and not all of the input
// are 0.
func (o object) answered() bool {
	sum := int64(0)
	for _, key := range []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"} {
		if !number(o[key]) {
			return false
		}
		if key != "output_tokens" {
			sum += o.figure(key)
		}
	}
	return sum > 0
}

// number reports whether a value is a number that is not negative.
func number(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] >= '0' && raw[0] <= '9' }

// costlier orders the lines of one message: by output, which grows while the
// message is written; of equal outputs by the rest, so that no order of reading
// changes the result.
func (t Tokens) costlier(u Tokens) bool {
	return cmp.Or(cmp.Compare(t.Output, u.Output), cmp.Compare(t.Context(), u.Context()),
		cmp.Compare(t.CacheRead, u.CacheRead), cmp.Compare(t.CacheCreation, u.CacheCreation)) > 0
}
