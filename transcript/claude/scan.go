package claude

import (
	"sm/transcript"
	"sm/transcript/jsonwalk"
)

// record collects the fields of one line, in any order: clients up to 2.1
// write the type before the message, later ones after it.
type record struct {
	kind, subtype                      jsonwalk.Text
	uuid, parent, origin               jsonwalk.Text
	timestamp, cwd, version, session   jsonwalk.Text
	sidechain, meta, apiError, summary bool
	apiMessage
	metadata
	attachment                        jsonwalk.Text // its type
	attached                          jsonwalk.Span // its content
	operation, queued, leaf           jsonwalk.Text
	branch, custom, generated, summed jsonwalk.Text
	explicit                          bool
	continued                         jsonwalk.Text // the session that continues this one
	source                            jsonwalk.Text // the sender of a prompt
	turn                              int64         // the turn of a prompt
}

// apiMessage is the API message of a record.
type apiMessage struct {
	id, model jsonwalk.Text
	usage     usage
	stop      jsonwalk.Text
	clearing  clearing
	content   jsonwalk.Span
	prompt    bool // the content is no tool's result
}

// metadata is the metadata of a boundary.
type metadata struct {
	trigger, segment, preserved jsonwalk.Text // the last two name the summary
	pre, duration               int64
	instantly, precomputed      bool
}

// walker reads the records of this client, one after another. Call Begin before
// each.
type walker struct {
	jsonwalk.Walker
	clock   jsonwalk.Clock
	unknown transcript.Unknowns
}

// usage has the figures of a message's usage object.
type usage struct {
	total   transcript.Usage // the message's cost
	context int64            // of its last call, when it made several
}

// scan reads one line of a transcript, without its newline, into e. It returns
// [jsonwalk.ErrBlank] or [jsonwalk.ErrNotJSON] for lines that hold no record; e
// is then empty. As in encoding/json, which accepts the same lines, the last of
// repeated keys counts. Unlike there, keys must match exactly, and a field of
// the wrong type counts as absent.
func (w *walker) scan(line []byte, e *transcript.Entry) error {
	*e = transcript.Entry{Calls: e.Calls[:0]}
	var r record
	if err := jsonwalk.Record(&w.Walker, func() { r.read(w, e) }); err != nil {
		*e = transcript.Entry{Calls: e.Calls[:0]}
		return err
	}
	e.At = w.clock.Instant(r.timestamp, line)
	r.classify(w, line, e)
	return nil
}

// read reads the top level of a record. Values that e holds unchanged are
// stored there, the others in r.
func (r *record) read(w *walker, e *transcript.Entry) {
	for name, value := range w.Members(jsonwalk.Text{}) {
		switch string(name) {
		case "type":
			r.kind = value
		case "subtype":
			r.subtype = value
		case "uuid":
			r.uuid = value
		case "parentUuid":
			r.parent = value
		case "timestamp":
			r.timestamp = value
		case "isSidechain":
			r.sidechain = w.IsTrue(value)
		case "isMeta":
			r.meta = w.IsTrue(value)
		case "isApiErrorMessage":
			r.apiError = w.IsTrue(value)
		case "isCompactSummary":
			r.summary = w.IsTrue(value)
		case "cwd":
			r.cwd = value
		case "version":
			r.version = value
		case "sessionId":
			r.session = value
		case "gitBranch":
			r.branch = value
		case "message":
			r.message(w, value, e)
		case "compactMetadata":
			r.compact(w, value)
		case "forkedFrom":
			r.origin = w.Only(value, "messageUuid")
		case "origin":
			r.source = w.Only(value, "kind")
		case "turnPosition":
			for name, value := range w.Members(value) {
				if string(name) == "turnIndex" {
					r.turn = w.Figure(value)
				}
			}
		case "attachment":
			r.attach(w, value)
		case "operation":
			r.operation = value
		case "content":
			r.queued = value
		case "leafUuid":
			r.leaf = value
		case "customTitle":
			r.custom = value
		case "aiTitle":
			r.generated = value
		case "summary":
			r.summed = value
		case "continuedInSessionId":
			r.continued = value
		case "explicit":
			r.explicit = w.IsTrue(value)
		}
	}
}

// message reads the API message of a record. Of a repeated message only the last
// one counts.
func (r *record) message(w *walker, value jsonwalk.Text, e *transcript.Entry) {
	e.Calls = e.Calls[:0]
	r.apiMessage = apiMessage{}
	for name, value := range w.Members(value) {
		switch string(name) {
		case "id":
			r.id = value
		case "model":
			r.model = value
		case "content":
			r.blocks(w, value, e)
		case "usage":
			r.usage = w.usage(value)
		case "stop_reason":
			r.stop = value
		case "context_management":
			r.clearing = w.clearing(value)
		}
	}
}

// attach reads an attachment. Its content, often long, is decoded later, and only for types
// that need it.
func (r *record) attach(w *walker, value jsonwalk.Text) {
	r.attachment = jsonwalk.Text{}
	r.attached = jsonwalk.Span{}
	for name, value := range w.Members(value) {
		switch string(name) {
		case "type":
			r.attachment = value
		case "content":
			r.attached = w.Span(value)
		}
	}
}

// blocks reads the content of a message only as far as needed to distinguish
// the text of a user from calls of tools and their results, which are most of a
// transcript's bytes.
func (r *record) blocks(w *walker, value jsonwalk.Text, e *transcript.Entry) {
	e.Calls = e.Calls[:0]
	if r.prompt = !value.None(); r.prompt {
		r.content = w.Span(value)
		return
	}
	w.Peek()
	r.content.From = w.Pos()
	tools := false
	for in := w.Enter(value, '['); in && w.Next(']'); {
		r.prompt = true
		if w.Peek() == '"' {
			w.Quoted()
			continue
		}
		tools = w.block(e) || tools
	}
	r.prompt = r.prompt && !tools
	r.content.To = w.Pos()
}

// compact reads the metadata of a boundary.
func (r *record) compact(w *walker, value jsonwalk.Text) {
	r.metadata = metadata{}
	for name, value := range w.Members(value) {
		switch string(name) {
		case "trigger":
			r.trigger = value
		case "preTokens":
			r.pre = w.Figure(value)
		case "durationMs":
			r.instantly = w.IsCount(value)
			r.duration = w.Figure(value)
		case "precomputed":
			r.precomputed = w.IsTrue(value)
		case "preservedSegment":
			r.segment = w.Only(value, "anchorUuid")
		case "preservedMessages":
			r.preserved = w.Only(value, "anchorUuid")
		}
	}
}
