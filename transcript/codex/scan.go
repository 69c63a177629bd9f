package codex

import (
	"sm/transcript"
	"sm/transcript/jsonwalk"
)

// kind is the kind of a record.
type kind uint8

const (
	other     kind = iota
	meta           // session_meta: identifies the file
	settings       // turn_context: model and folder
	spent          // token_usage_record: the cost of one response
	counted        // event_msg/token_count with figures
	started        // event_msg/task_started
	ended          // event_msg/task_complete or turn_aborted
	compacted      // compacted
	prompt         // a prompt of the user: an item since 0.146, an event before
	hookText       // a hook's text for the model
	rolled         // event_msg/thread_rolled_back: the conversation was rewound in place
	called         // a tool call: function_call, custom_tool_call or local_shell_call
	answered       // the result of a tool call
	ran            // item_completed/CommandExecution: a command, with its result
	patched        // item_completed/FileChange: files that were changed
)

// usage holds the figures of one response, or their sum over a thread. Cached and written
// tokens are part of the input, tokens of reasoning part of the output.
type usage struct{ input, cached, written, output, total int64 }

// none reports whether u describes no response: the client's own estimates have
// only a total.
func (u usage) none() bool { return u.input == 0 && u.output == 0 }

func (u usage) cost() transcript.Usage {
	return transcript.Usage{
		Input:         max(0, u.input-u.cached-u.written),
		CacheCreation: u.written,
		CacheRead:     u.cached,
		Output:        u.output,
	}
}

// record is the content of one line. Its byte slices may point into the line.
// Members of the payload that do not belong to the kind are read as well,
// except for limits.
type record struct {
	kind    kind
	at      transcript.Instant
	ordinal int64 // in the thread, -1 for none

	id, parent      []byte // of a meta: the thread and its parent
	origin          []byte // of a meta: the thread that it was forked from
	base            []byte // of a meta: the thread or file that its history begins with
	start           int64  // of a meta: the ordinal of the first record of its own, 0 for none
	version, branch []byte // of a meta
	model, cwd      []byte // of a meta or settings

	turn             []byte   // of the records of a turn
	attributed       bool     // of a start: it names the cause of the turn
	info                      // of a cost or a count; the window also of a start
	thread, response []byte   // of a cost
	windowID         []byte   // of a compaction: the id of the window that it opens
	compaction       []byte   // of a compaction: the id of the response with the summary
	limits           [2]limit // of a token_count, also without figures: five hours, seven days
	overflow         bool     // of an end: the context did not fit
	text             []byte   // of a prompt, or of a hook for the model

	call, tool, input []byte // of a call: id, tool and arguments, as the line writes them
	output            int64  // of a result: its size in bytes
}

// limit is one window of the account's rate limits; resets is in seconds since
// 1970, 0 for none.
type limit struct{ used, resets float64 }

// payload has the members that determine the meaning of a record once all of
// them have been read; of a repeated payload only the last counts.
type payload struct {
	kind, message, role jsonwalk.Text
	failure             []byte
	arguments, input    jsonwalk.Text
	informed            bool
	limits              [2]limit
	info                info
	content, action     jsonwalk.Span
	item                item
}

// item describes an action of the agent.
type item struct {
	kind             jsonwalk.Text
	id               []byte
	content, command jsonwalk.Span
	changes          jsonwalk.Span
	output           int64
}

// info is the content of a token_count: the figures of the last response, those
// of the thread, and the window in tokens.
type info struct {
	last, sum usage
	window    int64
}

// walker reads the records of this client, one after another. Call Begin before
// each.
type walker struct {
	jsonwalk.Walker
	clock   jsonwalk.Clock
	unknown transcript.Unknowns
}

// scan reads one line, without its newline. It returns jsonwalk.ErrBlank or
// jsonwalk.ErrNotJSON for lines that hold no record; r is then empty. As in
// encoding/json, which accepts the same lines, the last of repeated members
// counts. Unlike there, names must match exactly, and a member of the wrong
// type counts as absent.
func (w *walker) scan(line []byte, r *record) error {
	*r = record{ordinal: -1}
	var kind jsonwalk.Text
	var p payload
	if err := jsonwalk.Record(&w.Walker, func() { kind = w.line(line, r, &p) }); err != nil {
		*r = record{ordinal: -1}
		return err
	}
	w.classify(kind, &p, line, r)
	return nil
}

// line reads the members of a line and returns its kind.
func (w *walker) line(line []byte, r *record, p *payload) (kind jsonwalk.Text) {
	for name, value := range w.Members(jsonwalk.Text{}) {
		switch string(name) {
		case "type":
			kind = value
		case "timestamp":
			r.at = w.clock.Instant(value, line)
		case "ordinal":
			numbered := w.IsCount(value)
			if r.ordinal = w.Figure(value); !numbered {
				r.ordinal = -1
			}
		case "payload":
			*r = record{at: r.at, ordinal: r.ordinal}
			*p = payload{}
			w.payload(value, r, p)
		}
	}
	return kind
}

func (w *walker) payload(value jsonwalk.Text, r *record, p *payload) {
	for name, value := range w.Members(value) {
		switch string(name) {
		case "type":
			p.kind = value
		case "id":
			r.id = w.Decode(value)
		case "parent_thread_id":
			r.parent = w.Decode(value)
		case "forked_from_id":
			r.origin = w.Decode(value)
		case "history_base":
			r.base = w.Decode(w.Only(value, "thread_id"))
		case "subagent_history_start_ordinal":
			r.start = w.Figure(value)
		case "cli_version":
			r.version = w.Decode(value)
		case "git":
			r.branch = w.Decode(w.Only(value, "branch"))
		case "model":
			r.model = w.Decode(value)
		case "cwd":
			r.cwd = w.Decode(value)
		case "turn_id":
			r.turn = w.Decode(value)
		case "turn_attribution":
			r.attributed = value.None() && w.Peek() == '{'
		case "model_context_window":
			r.window = w.Figure(value)
		case "thread_id":
			r.thread = w.Decode(value)
		case "response_id":
			r.response = w.Decode(value)
		case "usage":
			r.last = w.usage(value)
		case "info":
			p.info, p.informed = w.info(value)
		case "rate_limits":
			p.limits = w.limits(value)
		case "error":
			p.failure = w.Decode(w.Only(value, "codex_error_info"))
		case "item":
			p.item = w.item(value)
		case "role":
			p.role = value
		case "content":
			p.content = w.Span(value)
		case "message":
			p.message = value
		case "window_id":
			r.windowID = w.Decode(value)
		case "compaction_response_id":
			r.compaction = w.Decode(value)
		case "call_id":
			r.call = w.Decode(value)
		case "name":
			r.tool = w.Decode(value)
		case "arguments":
			p.arguments = value
		case "input":
			p.input = value
		case "action":
			p.action = w.Span(value)
		case "output":
			r.output = w.Size(value)
		}
	}
}

func (w *walker) usage(value jsonwalk.Text) (u usage) {
	for name, value := range w.Members(value) {
		switch string(name) {
		case "input_tokens":
			u.input = w.Figure(value)
		case "cached_input_tokens":
			u.cached = w.Figure(value)
		case "cache_write_input_tokens":
			u.written = w.Figure(value)
		case "output_tokens":
			u.output = w.Figure(value)
		case "total_tokens":
			u.total = w.Figure(value)
		case "reasoning_output_tokens":
		default:
			w.unknown.Add(transcript.UnknownUsage, name)
		}
	}
	return u
}

func (w *walker) info(value jsonwalk.Text) (i info, known bool) {
	known = value.None() && w.Peek() == '{'
	for name, value := range w.Members(value) {
		switch string(name) {
		case "last_token_usage":
			i.last = w.usage(value)
		case "total_token_usage":
			i.sum = w.usage(value)
		case "model_context_window":
			i.window = w.Figure(value)
		}
	}
	return i, known
}

// limits reads an account's rate limits. It ignores windows other than five
// hours and seven days.
func (w *walker) limits(value jsonwalk.Text) (all [2]limit) {
	for name, value := range w.Members(value) {
		if string(name) != "primary" && string(name) != "secondary" {
			continue
		}
		switch l, minutes := w.limit(value); minutes {
		case 5 * 60:
			all[0] = l
		case 7 * 24 * 60:
			all[1] = l
		}
	}
	return all
}

func (w *walker) limit(value jsonwalk.Text) (l limit, minutes int64) {
	for name, value := range w.Members(value) {
		switch string(name) {
		case "used_percent":
			l.used = w.Real(value)
		case "window_minutes":
			minutes = w.Figure(value)
		case "resets_at":
			l.resets = w.Real(value)
		}
	}
	return l, minutes
}

// item reads the kind of an item, and the positions of its action.
func (w *walker) item(value jsonwalk.Text) (i item) {
	for name, value := range w.Members(value) {
		switch string(name) {
		case "type":
			i.kind = value
		case "id":
			i.id = w.Decode(value)
		case "content":
			i.content = w.Span(value)
		case "command":
			i.command = w.Span(value)
		case "changes":
			i.changes = w.Span(value)
		case "aggregated_output":
			i.output = w.Size(value)
		}
	}
	return i
}
