package transcript

import (
	"math"
	"strconv"
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
func (c counts) usage() Usage {
	return Usage{Input: c.input, CacheCreation: min(max(c.creation, c.nested), maxFigure), CacheRead: c.read, Output: c.output}
}

// usage reads a usage object. Where the message took several calls (iterations),
// the figures at the top are their sum, and the last call of type "message" says
// how large the context was.
func (w *walker) usage() (u usage) {
	var c counts
	var calls int
	var last *counts
	u.present = w.peek() == '{'
	for first, in := true, w.enter('{'); in; first = false {
		var key []byte
		if key, in = w.member(first); !in {
			break
		}
		if string(key) == "iterations" {
			calls, last = w.iterations()
		} else {
			w.count(key, &c)
		}
	}
	u.total = c.usage()
	u.context = u.total.Context()
	if calls > 1 && last != nil {
		u.context = last.usage().Context()
	}
	return u
}

// count reads one member of a usage object.
func (w *walker) count(key []byte, c *counts) {
	switch string(key) {
	case "input_tokens":
		c.input = w.figure()
	case "cache_creation_input_tokens":
		c.creation = w.figure()
	case "cache_read_input_tokens":
		c.read = w.figure()
	case "output_tokens":
		c.output = w.figure()
	case "cache_creation":
		var short, long int64
		for first, in := true, w.enter('{'); in; first = false {
			var k []byte
			if k, in = w.member(first); !in {
				break
			}
			switch string(k) {
			case "ephemeral_5m_input_tokens":
				short = w.figure()
			case "ephemeral_1h_input_tokens":
				long = w.figure()
			default:
				w.skip()
			}
		}
		c.nested = short + long
	default:
		w.skip()
	}
}

// iterations counts the calls of a message and returns the last one of type
// "message", nil when there is none.
func (w *walker) iterations() (n int, last *counts) {
	in := w.enter('[')
	for first := true; in && w.next(first, ']'); first = false {
		n++
		var c counts
		var kind text
		for first, in := true, w.enter('{'); in; first = false {
			var key []byte
			if key, in = w.member(first); !in {
				break
			}
			if string(key) == "type" {
				kind = w.str()
			} else {
				w.count(key, &c)
			}
		}
		if string(kind.bytes()) == "message" {
			last = &c
		}
	}
	return n, last
}

// figure reads a value and returns it as a token count in 0..1e9: whole numbers
// in any spelling; negative ones are 0, larger ones 1e9, anything else 0.
func (w *walker) figure() int64 {
	if c := w.peek(); c != '-' && c-'0' > 9 {
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
