package claude

import (
	"errors"

	"sm/transcript"
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
	kind, subtype                      text
	uuid, parent, origin               text
	timestamp, cwd, version, session   text
	sidechain, meta, apiError, summary bool
	id, model                          text
	usage                              usage
	stop                               text
	clearing                           clearing
	content, attachment                span
	operation, queued, leaf            text
	branch, custom, generated, summed  text
	explicit, instantly                bool
	prompt                             bool // the content is no tool's result
	trigger, segment, preserved        text // the last two name the summary
	pre, duration                      int64
}

// span is where a value stands in the line that is looked at later, if at all.
type span struct{ from, to int }

// usage is what a message's usage object says.
type usage struct {
	total   transcript.Usage // the message's cost
	context int64            // of its last call, when it made several
}

// Scan reads one line of a transcript, without its newline, into e. It returns
// ErrBlank or ErrNotJSON for lines that hold no record; e is then empty.
// A line is judged as encoding/json judges it, and of repeated keys the last one
// counts, as there; but keys are matched to the letter, and a field of the wrong
// type is as if absent.
func Scan(line []byte, e *transcript.Entry) error {
	var w walker
	w.begin(line)
	return w.scan(e)
}

func (w *walker) scan(e *transcript.Entry) error {
	*e = transcript.Entry{}
	switch w.peek() {
	case 0:
		if w.i == len(w.b) && !w.bad {
			return ErrBlank
		}
		return ErrNotJSON
	case '{':
	default:
		return ErrNotJSON
	}
	var r record
	r.read(w, e)
	if w.bad || w.peek() != 0 || w.i < len(w.b) {
		*e = transcript.Entry{}
		return ErrNotJSON
	}
	r.judge(w.b, e)
	return nil
}

// read walks over the top level of a record. What e holds as plain values is
// stored at once, the rest in r.
func (r *record) read(w *walker, e *transcript.Entry) {
	w.open()
	for {
		name, value, ok := w.member()
		if !ok {
			return
		}
		switch string(name) {
		case "type":
			r.kind = w.str(value)
		case "subtype":
			r.subtype = w.str(value)
		case "uuid":
			r.uuid = w.str(value)
		case "parentUuid":
			r.parent = w.str(value)
		case "timestamp":
			r.timestamp = w.str(value)
		case "isSidechain":
			r.sidechain = w.isTrue(value)
		case "isMeta":
			r.meta = w.isTrue(value)
		case "isApiErrorMessage":
			r.apiError = w.isTrue(value)
		case "isCompactSummary":
			r.summary = w.isTrue(value)
		case "cwd":
			r.cwd = w.str(value)
		case "version":
			r.version = w.str(value)
		case "sessionId":
			r.session = w.str(value)
		case "gitBranch":
			r.branch = w.str(value)
		case "message":
			r.message(w, value)
		case "compactMetadata":
			r.compact(w, value)
		case "forkedFrom":
			r.origin = w.only(value, "messageUuid")
		case "attachment":
			r.attachment = w.span(value)
		case "operation":
			r.operation = w.str(value)
		case "content":
			r.queued = w.str(value)
		case "leafUuid":
			r.leaf = w.str(value)
		case "customTitle":
			r.custom = w.str(value)
		case "aiTitle":
			r.generated = w.str(value)
		case "summary":
			r.summed = w.str(value)
		case "explicit":
			r.explicit = w.isTrue(value)
		default:
			w.str(value)
		}
	}
}

// span returns where a member's value stands; only objects are looked at later.
func (w *walker) span(value text) span {
	if !value.none() {
		return span{}
	}
	w.peek()
	from := w.i
	w.skip()
	return span{from, w.i}
}

// message reads the API message of a record. Of a repeated message only the last
// one counts.
func (r *record) message(w *walker, value text) {
	r.id, r.model, r.usage, r.content, r.prompt = text{}, text{}, usage{}, span{}, false
	r.stop, r.clearing = text{}, clearing{}
	for in := w.enter(value, '{'); in; {
		var name []byte
		if name, value, in = w.member(); !in {
			return
		}
		switch string(name) {
		case "id":
			r.id = w.str(value)
		case "model":
			r.model = w.str(value)
		case "content":
			r.blocks(w, value)
		case "usage":
			r.usage = w.usage(value)
		case "stop_reason":
			r.stop = w.str(value)
		case "context_management":
			r.clearing = w.clearing(value)
		default:
			w.str(value)
		}
	}
}

// blocks looks at the content of a message no closer than to tell what a user wrote
// from the results of tools, which are most of a transcript's bytes.
func (r *record) blocks(w *walker, value text) {
	if r.prompt = !value.none(); r.prompt {
		r.content = span{int(value.from) - 1, int(value.to) + 1}
		return
	}
	w.peek()
	r.content.from = w.i
	tools := false
	for in := w.enter(value, '['); in && w.next(']'); {
		r.prompt = true
		if w.peek() == '"' {
			w.quoted()
			continue
		}
		kind := w.only(text{}, "type")
		tools = tools || string(kind.bytes(w.b)) == "tool_result"
	}
	r.prompt = r.prompt && !tools
	r.content.to = w.i
}

// compact reads what a boundary says of its compaction.
func (r *record) compact(w *walker, value text) {
	r.trigger, r.segment, r.preserved, r.pre, r.duration, r.instantly = text{}, text{}, text{}, 0, 0, false
	for in := w.enter(value, '{'); in; {
		var name []byte
		if name, value, in = w.member(); !in {
			return
		}
		switch string(name) {
		case "trigger":
			r.trigger = w.str(value)
		case "preTokens":
			r.pre = w.figure(value)
		case "durationMs":
			r.instantly = w.isCount(value)
			r.duration = w.figure(value)
		case "preservedSegment":
			r.segment = w.only(value, "anchorUuid")
		case "preservedMessages":
			r.preserved = w.only(value, "anchorUuid")
		default:
			w.str(value)
		}
	}
}

// only reads an object of which one string matters.
func (w *walker) only(value text, wanted string) (t text) {
	for in := w.enter(value, '{'); in; {
		var name []byte
		if name, value, in = w.member(); !in {
			break
		}
		if value = w.str(value); string(name) == wanted {
			t = value
		}
	}
	return t
}
