package claude

// clearing is what a message tells of tool results that were left out of its request
// (message.context_management): by the client itself, or by the API in edits that it
// reports. The client reckons with it as tokens does.
type clearing struct {
	told      bool
	cut       int64 // calls whose results the client has left out
	estimate  int64
	estimated bool
	measured  bool  // the estimate rests on the sizes of prompts
	edits     bool  // the API reports edits, none perhaps
	edited    int64 // tokens that they have cleared
}

// tokens is what was cleared. What the client has cut by itself is its own estimate; an
// edit of the API counts at its report, but at no more than the client's estimate, which
// wins where it was measured.
func (c clearing) tokens() int64 {
	switch {
	case c.cut > 0:
		return c.estimate
	case !c.edits:
		return 0
	case !c.estimated:
		return c.edited
	case c.measured && c.edited > 0:
		return c.estimate
	}
	return min(c.edited, c.estimate)
}

func (w *walker) clearing(value text) (c clearing) {
	c.told = value.none() && w.peek() == '{'
	for in := w.enter(value, '{'); in; {
		var name []byte
		if name, value, in = w.member(); !in {
			break
		}
		switch string(name) {
		case "client_cut_tool_uses":
			c.cut = w.figure(value)
		case "client_estimated_cleared_input_tokens":
			c.estimated = w.isCount(value)
			c.estimate = w.figure(value)
		case "client_estimate_measured_from_prompts":
			c.measured = w.isTrue(value)
		case "applied_edits":
			c.edits, c.edited = w.edits(value)
		default:
			w.str(value)
		}
	}
	return c
}

// edits sums up what the edits that clear tool results have cleared.
func (w *walker) edits(value text) (any bool, tokens int64) {
	any = value.none() && w.peek() == '['
	for in := w.enter(value, '['); in && w.next(']'); {
		var kind text
		var cleared int64
		for in := w.enter(text{}, '{'); in; {
			var name []byte
			if name, value, in = w.member(); !in {
				break
			}
			switch string(name) {
			case "type":
				kind = w.str(value)
			case "cleared_input_tokens":
				cleared = w.figure(value)
			default:
				w.str(value)
			}
		}
		if string(kind.bytes(w.b)) == "clear_tool_uses_20250919" {
			tokens = min(tokens+cleared, maxFigure)
		}
	}
	return any, tokens
}
