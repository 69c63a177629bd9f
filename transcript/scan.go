package transcript

import (
	"errors"
)

// What Scan says of a line that is not a record.
var (
	// ErrBlank: nothing but white space; not an error in a transcript.
	ErrBlank = errors.New("blank line")
	// ErrNotJSON: not one JSON object; counted as bad and skipped.
	ErrNotJSON = errors.New("not a JSON object")
)

// record collects the fields of one line, wherever they stand: clients up to 2.1
// write the type before the message, later ones after it.
type record struct {
	kind, subtype                          text
	uuid, parent, origin                   text
	timestamp                              text
	sidechain, meta, apiError, summary     bool
	id, model                              text
	usage                                  usage
	content, attachment, operation, queued span
	trigger, anchor                        text
	pre, duration                          int64
}

// span is where a value stands in the line that is looked at later, if at all.
type span struct{ from, to int }

// usage is what a message's usage object says.
type usage struct {
	present bool
	total   Usage // the message's cost
	context int64 // of its last call, when it made several
}

// Scan reads one line of a transcript, without its newline, into e. It returns
// ErrBlank or ErrNotJSON for lines that hold no record; e is then empty.
// A line is judged as encoding/json judges it, and of repeated keys the last one
// counts, as there; but keys are matched to the letter, and a field of the wrong
// type is as if absent.
func Scan(line []byte, e *Entry) error {
	*e = Entry{}
	w := walker{b: line}
	switch w.peek() {
	case 0:
		if w.i == len(line) {
			return ErrBlank
		}
		return ErrNotJSON
	case '{':
	default:
		return ErrNotJSON
	}
	var r record
	r.read(&w, e)
	if w.bad || w.peek() != 0 || w.i < len(line) {
		*e = Entry{}
		return ErrNotJSON
	}
	r.judge(line, e)
	return nil
}

// read walks over the top level of a record. What e holds as plain values is
// stored at once, the rest in r.
func (r *record) read(w *walker, e *Entry) {
	w.open()
	for first := true; ; first = false {
		key, ok := w.member(first)
		if !ok {
			return
		}
		switch string(key) {
		case "type":
			r.kind = w.str()
		case "subtype":
			r.subtype = w.str()
		case "uuid":
			r.uuid = w.str()
		case "parentUuid":
			r.parent = w.str()
		case "timestamp":
			r.timestamp = w.str()
		case "isSidechain":
			r.sidechain = w.isTrue()
		case "isMeta":
			r.meta = w.isTrue()
		case "isApiErrorMessage":
			r.apiError = w.isTrue()
		case "isCompactSummary":
			r.summary = w.isTrue()
		case "cwd":
			e.CWD = w.str().bytes()
		case "version":
			e.Version = w.str().bytes()
		case "sessionId":
			e.SessionID = w.str().bytes()
		case "message":
			r.message(w)
		case "compactMetadata":
			r.compact(w)
		case "forkedFrom":
			r.origin = text{}
			for first, in := true, w.enter('{'); in; first = false {
				if key, in = w.member(first); in {
					if string(key) == "messageUuid" {
						r.origin = w.str()
					} else {
						w.skip()
					}
				}
			}
		case "attachment":
			r.attachment = w.span()
		case "operation":
			r.operation = w.span()
		case "content":
			r.queued = w.span()
		default:
			w.skip()
		}
	}
}

func (w *walker) span() span {
	w.peek()
	from := w.i
	w.skip()
	return span{from, w.i}
}

// message reads the API message of a record. Of a repeated message only the last
// one counts.
func (r *record) message(w *walker) {
	r.id, r.model, r.usage, r.content = text{}, text{}, usage{}, span{}
	for first, in := true, w.enter('{'); in; first = false {
		var key []byte
		if key, in = w.member(first); !in {
			return
		}
		switch string(key) {
		case "id":
			r.id = w.str()
		case "model":
			r.model = w.str()
		case "content":
			r.content = w.span()
		case "usage":
			r.usage = w.usage()
		default:
			w.skip()
		}
	}
}

// compact reads what a boundary says of its compaction.
func (r *record) compact(w *walker) {
	r.trigger, r.anchor, r.pre, r.duration = text{}, text{}, 0, 0
	for first, in := true, w.enter('{'); in; first = false {
		var key []byte
		if key, in = w.member(first); !in {
			return
		}
		switch string(key) {
		case "trigger":
			r.trigger = w.str()
		case "preTokens":
			r.pre = w.figure()
		case "durationMs":
			r.duration = w.figure()
		case "preservedSegment", "preservedMessages":
			for first, in := true, w.enter('{'); in; first = false {
				if key, in = w.member(first); in {
					if string(key) == "anchorUuid" {
						r.anchor = w.str()
					} else {
						w.skip()
					}
				}
			}
		default:
			w.skip()
		}
	}
}
