package transcripttest

import (
	"strings"
	"time"
)

// view is a context size and where in the file it was read.
type view struct {
	at      moment
	context int64
}

// past is what a file tells of the order in which it was written, and of the points to
// which its conversation can go back.
type writeOrder struct {
	newest *view // the last reading in the file, nil behind a compaction
	stood  []stand
	// Of the newest user record: its parent stood before another one, and its line.
	again bool
	line  int
	// head is the stamp of a first record that goes on from one that is not there: it
	// stands before what it was forked from, while copied.
	begun, copied bool
	head          time.Time

	session    string
	prompt     int  // line of the newest prompt
	turn, ends bool // in a turn; turns end with a record
}

// stand is what had been read when a user record was written behind a parent.
type stand struct {
	parent string
	view   *view
}

// inFile places a reading or a compaction. Where the file was written in its order, one
// stamped over half a minute before what stands ahead of it shows that those stamps lie.
func (r *reader) inFile(at time.Time) moment {
	if p := &r.history; p.head.IsZero() && !at.IsZero() && r.clock.Sub(at) > 30*time.Second {
		for _, m := range []*moment{&r.reading, &r.latest} {
			if m.at.After(at) {
				m.at = at
			}
		}
		r.clock = at
	}
	return r.place(at)
}

// user takes what a record says of order and turns, and rewinds at one that stands where
// an earlier one stood.
func (p *writeOrder) user(r *reader, o object) {
	kind, at, content := o.text("type"), o.when(), objectOf(o["message"])["content"]
	plain := kind == "user" && !o.yes("isCompactSummary") && isTyped(content)
	if !p.begun && o.text("uuid") != "" && (plain || kind == "assistant") {
		if p.begun = true; o.text("parentUuid") != "" {
			p.head = at
		}
	}
	if !p.head.IsZero() && !at.IsZero() {
		if at.Before(p.head) {
			p.copied = true
		} else if p.copied {
			p.head = time.Time{}
		}
	}
	switch {
	case kind == "system" && o.text("subtype") == "turn_duration":
		p.turn, p.ends = false, true
	case kind == "last-prompt" && o.yes("explicit") && strings.Trim(o.text("leafUuid"), "0-") == "" && o.text("leafUuid") != "":
		if !p.again && p.line > 0 && p.newest != nil && p.newest.at.line < p.line {
			p.back(r, nil)
			p.again, p.stood = true, p.stood[:0]
		}
	case plain && strings.HasPrefix(strings.TrimLeft(textOf(content), " \t\r\n"), "[Request interrupted by user") && !o.yes("isMeta"):
		p.turn = false
	case plain:
		p.step(r, o, at, content)
	}
}

func (p *writeOrder) step(r *reader, o object, at time.Time, content []byte) {
	if id := o.text("sessionId"); id != "" {
		if p.session != "" && p.session != id {
			p.stood = nil
		}
		p.session = id
	}
	parent := o.text("parentUuid")
	p.again, p.line = false, r.out.Lines
	busy := p.turn && p.ends && p.newest != nil && p.newest.at.line > p.prompt
	clears := strings.Contains(textOf(content), "<command-name>/clear</command-name>")
	if isPrompt(content) && !o.yes("isMeta") {
		p.turn, p.prompt = true, r.out.Lines
	}
	if parent == "" {
		return
	}
	here := stand{parent, p.newest}
	if !at.IsZero() && !at.Before(r.reading.at) && !busy && !clears {
		for i, s := range p.stood {
			if s.parent == parent {
				p.again, p.stood = true, p.stood[:i]
				if s.view != p.newest {
					p.back(r, s.view)
				}
				here.view = s.view
				break
			}
		}
	}
	p.stood = append(p.stood, here)
}

// back makes an earlier reading the newest, or none.
func (p *writeOrder) back(r *reader, to *view) {
	p.newest, r.latest, r.reading, r.out.ContextTokens = to, moment{}, moment{}, 0
	if to != nil {
		r.reading, r.out.ContextTokens = to.at, to.context
	}
}

// isTyped reports whether a user message's content is no tool's result.
func isTyped(content []byte) bool {
	list := listOf(content)
	if list == nil {
		return len(content) > 0 && content[0] == '"'
	}
	for _, block := range list {
		if objectOf(block).text("type") == "tool_result" {
			return false
		}
	}
	return len(list) > 0
}
