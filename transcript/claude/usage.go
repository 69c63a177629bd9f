package claude

import (
	"sm/transcript"
	"sm/transcript/jsonwalk"
)

// counts are the figures of one usage object, of a message or of one of its calls.
type counts struct {
	input, creation, read, output figure
	nested                        int64 // ephemeral_5m + ephemeral_1h
}

// figure is a count of tokens; known means that it is a number that is not
// negative.
type figure struct {
	n     int64
	known bool
}

func (w *walker) figure(value jsonwalk.Text) figure {
	known := w.IsCount(value)
	return figure{w.Figure(value), known}
}

// usage applies the rule of the context size: gateways report cache creation
// only in the nested object, clients in both, so the larger figure is right.
func (c counts) usage() transcript.Usage {
	return transcript.Usage{
		Input:         c.input.n,
		CacheCreation: min(max(c.creation.n, c.nested), jsonwalk.MaxFigure),
		CacheRead:     c.read.n,
		Output:        c.output.n,
	}
}

// usage reads a usage object. If the message took several calls (iterations),
// the figures at the top are their sum, and the context size is that of the
// last call that the model itself answered, as in the client.
func (w *walker) usage(value jsonwalk.Text) (u usage) {
	var c counts
	var calls iterations
	for name, value := range w.Members(value) {
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
func (w *walker) count(name []byte, value jsonwalk.Text, c *counts) {
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
		for name, value := range w.Members(value) {
			switch string(name) {
			case "ephemeral_5m_input_tokens":
				short = w.Figure(value)
			case "ephemeral_1h_input_tokens":
				long = w.Figure(value)
			default:
				w.unknown.Add(transcript.UnknownUsage, name)
			}
		}
		c.nested = short + long
	case "service_tier", "inference_geo", "server_tool_use", "speed", "output_tokens_details",
		"fallback_credit":
	default:
		w.unknown.Add(transcript.UnknownUsage, name)
	}
}

// iterations has the last call of a message that neither an advisor nor a
// compaction made. known reports whether it counts, by the client's rule: it
// must be an answer, also of a fallback model, with all four figures and a sum
// above 0.
type iterations struct {
	last  counts
	known bool
}

func (w *walker) iterations(value jsonwalk.Text) (calls iterations) {
	for in := w.Enter(value, '['); in && w.Next(']'); {
		c, kind, whole := w.call()
		switch string(w.Decode(kind)) {
		case "message", "fallback_message":
			calls.known = whole && c.input.n+c.creation.n+c.read.n > 0
			calls.last = c
		case "advisor_message", "compaction":
		default:
			calls.known = false
		}
	}
	return calls
}

// call reads one element of iterations. whole means that all four figures are
// known.
func (w *walker) call() (c counts, kind jsonwalk.Text, whole bool) {
	for name, value := range w.Members(jsonwalk.Text{}) {
		if string(name) == "type" {
			kind = value
		} else {
			w.count(name, value, &c)
		}
	}
	return c, kind, c.input.known && c.output.known && c.creation.known && c.read.known
}
