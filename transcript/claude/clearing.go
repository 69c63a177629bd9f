package claude

import "sm/transcript/jsonwalk"

// clearing describes the tool results that were left out of the request of a
// message (message.context_management): by the client, or by the API in edits
// that it reports. The client computes the context size from them like tokens
// does.
type clearing struct {
	reported  bool
	cut       int64 // number of calls whose results the client left out
	estimate  int64
	estimated bool
	measured  bool  // the estimate is based on the sizes of prompts
	edits     bool  // the API reports edits, possibly none
	edited    int64 // number of tokens that the edits cleared
}

// tokens returns the number of cleared tokens. For results that the client left
// out it is the client's estimate. For edits of the API it is the API's figure,
// at most the client's estimate; a measured estimate replaces that figure.
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

func (w *walker) clearing(value jsonwalk.Text) (c clearing) {
	c.reported = value.None() && w.Peek() == '{'
	for name, value := range w.Members(value) {
		switch string(name) {
		case "client_cut_tool_uses":
			c.cut = w.Figure(value)
		case "client_estimated_cleared_input_tokens":
			c.estimated = w.IsCount(value)
			c.estimate = w.Figure(value)
		case "client_estimate_measured_from_prompts":
			c.measured = w.IsTrue(value)
		case "applied_edits":
			c.edits, c.edited = w.edits(value)
		}
	}
	return c
}

// edits returns the sum of the tokens cleared by edits that clear tool results.
func (w *walker) edits(value jsonwalk.Text) (any bool, tokens int64) {
	any = value.None() && w.Peek() == '['
	for in := w.Enter(value, '['); in && w.Next(']'); {
		var kind jsonwalk.Text
		var cleared int64
		for name, value := range w.Members(jsonwalk.Text{}) {
			switch string(name) {
			case "type":
				kind = value
			case "cleared_input_tokens":
				cleared = w.Figure(value)
			}
		}
		if string(w.Decode(kind)) == "clear_tool_uses_20250919" {
			tokens = min(tokens+cleared, jsonwalk.MaxFigure)
		}
	}
	return any, tokens
}
