package claude

import (
	"math"
	"strconv"

	"sm/transcript"
)

// maxFigure is the largest token figure believed; forged or broken ones beyond it
// are cut to it, so that no sum can overflow.
const maxFigure = 1_000_000_000

// counts are the figures of one usage object, of a message or of one of its calls.
type counts struct {
	input, creation, read, output int64
	nested                        int64 // ephemeral_5m + ephemeral_1h
}

// usage applies the rule of the context size: gateways report cache creation only
// in the nested object, clients in both, so the larger one is true.
func (c counts) usage() transcript.Usage {
	return transcript.Usage{Input: c.input, CacheCreation: min(max(c.creation, c.nested), maxFigure), CacheRead: c.read, Output: c.output}
}

// usage reads a usage object. Where the message took several calls (iterations),
// the figures at the top are their sum, and the last call that the model itself answered
// says how large the context was: so does the client.
func (w *walker) usage(value text) (u usage) {
	var c counts
	var calls iterations
	for in := w.enter(value, '{'); in; {
		var name []byte
		if name, value, in = w.member(); !in {
			break
		}
		if string(name) == "iterations" {
			calls = w.iterations(value)
		} else {
			w.count(name, value, &c)
		}
	}
	u.total = c.usage()
	u.context = u.total.Context()
	if calls.known {
		u.context = calls.last.usage().Context()
	}
	return u
}

// count reads one member of a usage object.
func (w *walker) count(name []byte, value text, c *counts) {
	switch string(name) {
	case "input_tokens":
		c.input = w.figure(value)
	case "cache_creation_input_tokens":
		c.creation = w.figure(value)
	case "cache_read_input_tokens":
		c.read = w.figure(value)
	case "output_tokens":
		c.output = w.figure(value)
	case "cache_creation":
		var short, long int64
		for in := w.enter(value, '{'); in; {
			if name, value, in = w.member(); !in {
				break
			}
			switch string(name) {
			case "ephemeral_5m_input_tokens":
				short = w.figure(value)
			case "ephemeral_1h_input_tokens":
				long = w.figure(value)
			default:
				w.str(value)
			}
		}
		c.nested = short + long
	default:
		w.str(value)
	}
}

// iterations are the calls of a message: the last one that neither an advisor nor a
// compaction made, and whether it counts, as the client judges it: an answer, or that of a
// model that stood in, with all four figures and a sum above 0.
type iterations struct {
	last  counts
	known bool
}

func (w *walker) iterations(value text) (calls iterations) {
	for in := w.enter(value, '['); in && w.next(']'); {
		c, kind, whole := w.call()
		switch string(kind.bytes(w.b)) {
		case "message", "fallback_message":
			calls.known = whole && c.input+c.creation+c.read > 0
			calls.last = c
		case "advisor_message", "compaction":
		default:
			calls.known = false
		}
	}
	return calls
}

// call reads one element of iterations. It is whole when each of its four figures is a
// number that is not negative.
func (w *walker) call() (c counts, kind text, whole bool) {
	var input, output, creation, read bool
	for in := w.enter(text{}, '{'); in; {
		var name []byte
		var value text
		if name, value, in = w.member(); !in {
			break
		}
		switch string(name) {
		case "type":
			kind = w.str(value)
		case "input_tokens":
			input = w.isCount(value)
			c.input = w.figure(value)
		case "output_tokens":
			output = w.isCount(value)
			c.output = w.figure(value)
		case "cache_creation_input_tokens":
			creation = w.isCount(value)
			c.creation = w.figure(value)
		case "cache_read_input_tokens":
			read = w.isCount(value)
			c.read = w.figure(value)
		default:
			w.count(name, value, &c)
		}
	}
	return c, kind, input && output && creation && read
}

// isCount reports whether a member's value begins like a number that is not negative.
func (w *walker) isCount(value text) bool {
	return value.none() && w.peek()-'0' <= 9
}

// figure reads a member's value and returns it as a token count in 0..1e9: whole numbers
// in any spelling; negative ones are 0, larger ones 1e9, anything else 0.
func (w *walker) figure(value text) int64 {
	if !value.none() {
		return 0
	}
	c := w.peek()
	if c-'1' < 9 {
		n, i := int64(0), w.i
		for i < len(w.b) && w.b[i]-'0' <= 9 && n <= maxFigure {
			n = n*10 + int64(w.b[i]-'0')
			i++
		}
		if i < len(w.b) && (w.b[i] == ',' || w.b[i] == '}') {
			w.i = i
			return min(n, maxFigure)
		}
	} else if c != '-' && c != '0' {
		w.skip()
		return 0
	}
	digits := w.number()
	if len(digits) == 0 {
		return 0
	}
	var n int64
	for _, c := range digits {
		if c-'0' > 9 || n > maxFigure {
			return wholeNumber(string(digits))
		}
		n = n*10 + int64(c-'0')
	}
	return min(n, maxFigure)
}

func wholeNumber(s string) int64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) || f != math.Trunc(f) {
		return 0
	}
	return int64(max(0, min(f, maxFigure)))
}
