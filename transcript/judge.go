package transcript

import (
	"bytes"
	"strings"
	"time"
)

const (
	// heardBytes bounds what is kept of a heard text.
	heardBytes = 1024
	// digestBytes: shorter summaries are no proof of a common origin.
	digestBytes = 200
	// synthetic is the model of the rows that the client writes by itself, say for
	// API errors; they cost nothing and say nothing of the context.
	synthetic = "<synthetic>"
)

// notPrompts begin user records that the client writes around commands. They are
// no prompts, though some lack isMeta.
var notPrompts = [...]string{"<command-name>", "<command-message>", "<local-command-", "<bash-"}

// judge says what the record means, once all of its fields are known.
func (r *record) judge(line []byte, e *Entry) {
	e.Side = r.sidechain
	e.UUID, e.Parent, e.Origin = key(r.uuid), key(r.parent), key(r.origin)
	e.At = instant(r.timestamp.bytes())
	switch string(r.kind.bytes()) {
	case "assistant":
		e.Model, e.Message = r.model.bytes(), key(r.id)
		e.Usage = r.usage.total
		if r.usage.present && r.usage.context > 0 && !r.apiError && string(e.Model) != synthetic {
			e.Kind, e.Context = KindReading, r.usage.context
		}
	case "system":
		switch string(r.subtype.bytes()) {
		case "compact_boundary":
			r.boundary(e)
		case "turn_duration":
			e.Kind = KindTurnEnd
		}
	case "user":
		r.user(line, e)
	case "summary":
		e.Kind = KindTitle
	case "attachment":
		if kind, body := attachment(line[r.attachment.from:r.attachment.to]); kind == "hook_additional_context" {
			e.Kind, e.Text = KindHeard, clip(body)
		}
	case "queue-operation":
		if s, ok := r.queued.str(line); ok && isOurs(s) {
			if op, ok := r.operation.str(line); ok && string(op) == "enqueue" {
				e.Kind, e.Text = KindHeard, clip(string(s))
			}
		}
	}
}

func (r *record) boundary(e *Entry) {
	e.Kind = KindBoundary
	e.Anchor = key(r.anchor)
	e.PreTokens = r.pre
	e.Duration = time.Duration(r.duration) * time.Millisecond
	switch string(r.trigger.bytes()) {
	case "auto":
		e.Trigger = Auto
	case "manual":
		e.Trigger = Manual
	default:
		e.Trigger = Unknown
	}
}

// user tells summaries, prompts and the rest apart. Tool results are most of a
// transcript's bytes; they are known by their first block.
func (r *record) user(line []byte, e *Entry) {
	if r.summary {
		e.Kind, e.Trigger = KindSummary, Unknown
		if body, _ := prompt(line[r.content.from:r.content.to]); len(body) >= digestBytes {
			e.Digest = KeyOf(body)
		}
		return
	}
	if r.meta {
		return
	}
	body, ok := prompt(line[r.content.from:r.content.to])
	if !ok {
		return
	}
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	for _, p := range notPrompts {
		if bytes.HasPrefix(trimmed, []byte(p)) {
			return
		}
	}
	if bytes.HasPrefix(trimmed, []byte("[Request interrupted by user")) {
		e.Kind = KindTurnEnd
		return
	}
	e.Kind = KindTurnStart
	if isOurs(body) {
		e.Text = clip(string(body))
	}
}

// prompt is the text of a user message's content: the string, or its text blocks.
// ok is false for tool results and for a content that is missing.
func prompt(content []byte) (body []byte, ok bool) {
	w := walker{b: content}
	switch w.peek() {
	case '"':
		return w.quoted().bytes(), true
	case '[':
	default:
		return nil, false
	}
	in := w.enter('[')
	blocks := 0
	for first := true; in && w.next(first, ']'); first = false {
		kind, t := block(&w)
		if kind == "tool_result" {
			return nil, false
		}
		if blocks++; kind == "text" {
			if body != nil {
				body = append(body[:len(body):len(body)], '\n')
			}
			body = append(body[:len(body):len(body)], t.bytes()...)
		}
	}
	return body, blocks > 0
}

// block reads one block of a content array.
func block(w *walker) (kind string, t text) {
	for first, in := true, w.enter('{'); in; first = false {
		var k []byte
		if k, in = w.member(first); !in {
			break
		}
		switch string(k) {
		case "type":
			kind = string(w.str().bytes())
			if kind == "tool_result" {
				return kind, t
			}
		case "text":
			t = w.str()
		default:
			w.skip()
		}
	}
	return kind, t
}

// attachment reads an attachment's type and the strings of its content.
func attachment(b []byte) (kind, body string) {
	w := walker{b: b}
	var parts []string
	for first, in := true, w.enter('{'); in; first = false {
		var k []byte
		if k, in = w.member(first); !in {
			break
		}
		switch string(k) {
		case "type":
			kind = string(w.str().bytes())
		case "content":
			parts = parts[:0]
			if w.peek() == '[' {
				in := w.enter('[')
				for first := true; in && w.next(first, ']'); first = false {
					parts = append(parts, string(w.str().bytes()))
				}
			} else {
				parts = append(parts, string(w.str().bytes()))
			}
		default:
			w.skip()
		}
	}
	return kind, strings.Join(parts, "\n")
}

// isOurs knows the texts that sm itself sends: its prefix, and the prompt that
// resumes after a handoff.
func isOurs(s []byte) bool {
	return bytes.HasPrefix(s, []byte("[sm ")) ||
		bytes.HasPrefix(s, []byte("Read ")) && bytes.HasSuffix(bytes.TrimRight(s, "\r\n "), []byte(" and continue from where you left off."))
}

func (s span) str(line []byte) ([]byte, bool) {
	w := walker{b: line[s.from:s.to]}
	t := w.str()
	return t.bytes(), t.raw != nil
}

func clip(s string) string {
	if len(s) > heardBytes {
		s = s[:heardBytes]
	}
	return strings.Clone(s)
}

func key(t text) Key { return KeyOf(t.bytes()) }

// instant reads a timestamp as the client writes it, 2026-11-20T08:13:30.067Z,
// or in any other form of RFC 3339; 0 when it is none.
func instant(b []byte) Instant {
	if len(b) == len("2026-11-20T08:13:30.067Z") && b[23] == 'Z' {
		if i, ok := fixedInstant(b); ok {
			return i
		}
	}
	if len(b) == 0 {
		return 0
	}
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return 0
	}
	return InstantOf(t)
}

func fixedInstant(b []byte) (Instant, bool) {
	const form = "dddd-dd-ddTdd:dd:dd.dddZ"
	var n [7]int64 // year, month, day, hour, minute, second, millisecond
	field := 0
	for i := range form {
		if form[i] != 'd' {
			if b[i] != form[i] {
				return 0, false
			}
			field++
			continue
		}
		d := b[i] - '0'
		if d > 9 {
			return 0, false
		}
		n[field] = n[field]*10 + int64(d)
	}
	if n[0] < 1970 || n[0] > 2261 || n[1] < 1 || n[1] > 12 || n[2] < 1 || n[3] > 23 || n[4] > 59 || n[5] > 59 {
		return 0, false
	}
	if n[2] > 28 && (n[1] == 2 || n[2] > 30 && (n[2] > 31 || n[1] == 4 || n[1] == 6 || n[1] == 9 || n[1] == 11)) {
		return 0, false // leap days and nonsense are for time.Parse to judge
	}
	days := civilDays(n[0], n[1], n[2])
	return Instant(((days*24+n[3])*60+n[4])*60+n[5])*1e9 + Instant(n[6])*1e6, true
}

// civilDays counts the days from 1970-01-01 in the Gregorian calendar, by taking
// March as the first month, so that the leap day is the last of its year.
func civilDays(y, m, d int64) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	return 365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d - 1 - 719468
}
