package codex

import (
	"sm/transcript"
	"sm/transcript/jsonwalk"
)

// kind is the kind of a record.
type kind uint8

const (
	other     kind = iota
	meta           // session_meta: whose file it is
	settings       // turn_context: model and folder
	spent          // token_usage_record: what one response cost
	counted        // event_msg/token_count with figures
	started        // event_msg/task_started
	ended          // event_msg/task_complete or turn_aborted
	compacted      // compacted
	prompt         // what the user wrote: an item of clients since 0.146, an event of older ones
	heard          // text of a hook for the model
	rolled         // event_msg/thread_rolled_back: the conversation was rewound in place
	called         // a call of a tool: function_call, custom_tool_call or local_shell_call
	answered       // the result of one
	ran            // item_completed/CommandExecution: a command, with its result
	patched        // item_completed/FileChange: files that were changed
)

// usage holds the figures of one response, or their sum over a thread. Cached and written
// tokens are part of the input, tokens of reasoning part of the output.
type usage struct{ input, cached, written, output, total int64 }

// none reports that no response is described: the client's own estimates have a total alone.
func (u usage) none() bool { return u.input == 0 && u.output == 0 }

func (u usage) cost() transcript.Usage {
	return transcript.Usage{
		Input:         max(0, u.input-u.cached-u.written),
		CacheCreation: u.written,
		CacheRead:     u.cached,
		Output:        u.output,
	}
}

// record is what one line says. Its byte slices point into the line.
type record struct {
	kind    kind
	at      transcript.Instant
	ordinal int64 // in the thread, -1 for none

	id, root, parent []byte // of a meta: the thread, its root, its parent
	origin, base     []byte // of a meta: the thread that it was forked from, and the thread or file that its history begins with
	start            int64  // of a meta: the ordinal of the first record of its own, 0 for none said
	version, branch  []byte // of a meta
	model, cwd       []byte // of a meta or settings

	turn             []byte   // of the records of a turn
	attributed       bool     // of a start: it names the cause of the turn
	window           int64    // of a start or a count, in tokens
	thread, response []byte   // of a cost
	last, sum        usage    // of a cost or a count; the sum is the thread's
	windowID         []byte   // of a compaction: that of the window it opens
	limits           [2]limit // of a token_count, be it without figures: five hours, seven days
	overflow         bool     // of an end: the context did not fit
	text             []byte   // of a prompt, or what was heard

	call, tool, input []byte // of a call: its id, the tool, and what was asked, as the line writes it
	output            int64  // of a result: its size in bytes
}

// limit is one window of the account's rate limits; resets is in seconds since
// 1970, 0 for none.
type limit struct{ used, resets float64 }

// fields collects what the members of a line say, wherever they stand.
type fields struct {
	kind, timestamp jsonwalk.Text
	ordinal         int64
	numbered        bool
	payload         payload
}

// payload is the payload of a line; of a repeated one only the last counts.
type payload struct {
	kind, id, root, parent, origin, base, version, branch, model, cwd jsonwalk.Text
	turn, thread, response, windowID, compaction, message, role       jsonwalk.Text
	failure, call, name, arguments, input                             jsonwalk.Text
	start, window                                                     int64
	attributed, informed                                              bool
	usage                                                             usage
	limits                                                            [2]limit
	info                                                              info
	content, action                                                   jsonwalk.Span
	output                                                            int64
	item                                                              item
}

// item describes an action of the agent.
type item struct {
	kind, id         jsonwalk.Text
	content, command jsonwalk.Span
	changes          jsonwalk.Span
	output           int64
}

// info is the content of a token_count.
type info struct {
	last, sum usage
	window    int64
}

// walker reads the records of this client, one after another: Begin comes before each.
type walker struct {
	jsonwalk.Walker
	clock jsonwalk.Clock

	unknown transcript.Unknowns
}

// scan reads one line, without its newline. It returns jsonwalk.ErrBlank or jsonwalk.ErrNotJSON for lines that
// hold no record; r is then empty. A line is valid where encoding/json takes it as valid, and of
// repeated members the last one counts, as there; but names are matched to the letter, and a
// member of the wrong type is as if absent.
func scan(line []byte, r *record) error {
	var w walker
	w.Begin(line)
	return w.scan(line, r)
}

func (w *walker) scan(line []byte, r *record) error {
	*r = record{ordinal: -1}
	var f fields
	if err := jsonwalk.Record(&w.Walker, func() { w.line(&f) }); err != nil {
		return err
	}
	f.classify(w, line, r)
	return nil
}

func (w *walker) line(f *fields) {
	for name, value := range w.Members(jsonwalk.Text{}) {
		switch string(name) {
		case "type":
			f.kind = w.Str(value)
		case "timestamp":
			f.timestamp = w.Str(value)
		case "ordinal":
			f.numbered = w.IsCount(value)
			f.ordinal = w.Figure(value)
		case "payload":
			f.payload = payload{}
			w.payload(value, &f.payload)
		}
	}
}

func (w *walker) payload(value jsonwalk.Text, p *payload) {
	for name, value := range w.Members(value) {
		switch string(name) {
		case "type":
			p.kind = w.Str(value)
		case "id":
			p.id = w.Str(value)
		case "session_id":
			p.root = w.Str(value)
		case "parent_thread_id":
			p.parent = w.Str(value)
		case "forked_from_id":
			p.origin = w.Str(value)
		case "history_base":
			p.base = w.Only(value, "thread_id")
		case "subagent_history_start_ordinal":
			p.start = w.Figure(value)
		case "cli_version":
			p.version = w.Str(value)
		case "git":
			p.branch = w.Only(value, "branch")
		case "model":
			p.model = w.Str(value)
		case "cwd":
			p.cwd = w.Str(value)
		case "turn_id":
			p.turn = w.Str(value)
		case "turn_attribution":
			p.attributed = w.object(value)
		case "model_context_window":
			p.window = w.Figure(value)
		case "thread_id":
			p.thread = w.Str(value)
		case "response_id":
			p.response = w.Str(value)
		case "usage":
			p.usage = w.usage(value)
		case "info":
			p.info, p.informed = w.info(value)
		case "rate_limits":
			p.limits = w.limits(value)
		case "error":
			p.failure = w.Only(value, "codex_error_info")
		case "item":
			p.item = w.item(value)
		case "role":
			p.role = w.Str(value)
		case "content":
			p.content = w.Span(value)
		case "message":
			p.message = w.Str(value)
		case "window_id":
			p.windowID = w.Str(value)
		case "compaction_response_id":
			p.compaction = w.Str(value)
		case "call_id":
			p.call = w.Str(value)
		case "name":
			p.name = w.Str(value)
		case "arguments":
			p.arguments = w.Str(value)
		case "input":
			p.input = w.Str(value)
		case "action":
			p.action = w.Span(value)
		case "output":
			p.output = jsonwalk.Size(&w.Walker, value)
		}
	}
}

// object reports whether a member's value is an object.
func (w *walker) object(value jsonwalk.Text) bool {
	is := value.None() && w.Peek() == '{'
	w.Str(value)
	return is
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

// limits reads an account's rate limits. Those of other windows than five hours and seven days
// are left out.
func (w *walker) limits(value jsonwalk.Text) (all [2]limit) {
	var found [2]limit
	var minutes [2]int64
	for name, value := range w.Members(value) {
		switch string(name) {
		case "primary":
			found[0], minutes[0] = w.limit(value)
		case "secondary":
			found[1], minutes[1] = w.limit(value)
		}
	}
	for i, l := range found {
		switch minutes[i] {
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

// item reads the kind of an item, and the place of its action.
func (w *walker) item(value jsonwalk.Text) (i item) {
	for name, value := range w.Members(value) {
		switch string(name) {
		case "type":
			i.kind = w.Str(value)
		case "id":
			i.id = w.Str(value)
		case "content":
			i.content = w.Span(value)
		case "command":
			i.command = w.Span(value)
		case "changes":
			i.changes = w.Span(value)
		case "aggregated_output":
			i.output = jsonwalk.Size(&w.Walker, value)
		}
	}
	return i
}
