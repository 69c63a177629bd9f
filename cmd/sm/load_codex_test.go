package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

const (
	codexWindow = 258_400 // tokens, of the model's 272 000
	codexLimit  = 244_800 // at which the client compacts
)

// codexThreadFile is one thread of Codex that is being written, in the form of its version 0.169.
type codexThreadFile struct {
	l                *load
	a                *author
	folder, path     string
	id, root, parent string
	now              time.Time
	ordinal          int
	size             int64    // of the file, in bytes
	past             []string // records, without time and ordinal, that a subagent copies
	window           string
	windows          int
	context          int64 // 0 while unknown
	basis            int64 // what the next response begins with
	last, total      codexUsage
	compactions      int
	cycles           int
}

// codexUsage is what a response has cost, or several.
type codexUsage struct {
	Input     int64 `json:"input_tokens"`
	Cached    int64 `json:"cached_input_tokens"`
	Written   int64 `json:"cache_write_input_tokens"`
	Output    int64 `json:"output_tokens"`
	Reasoning int64 `json:"reasoning_output_tokens"`
	Total     int64 `json:"total_tokens"`
}

func (u codexUsage) plus(v codexUsage) codexUsage {
	return codexUsage{
		u.Input + v.Input,
		u.Cached + v.Cached,
		u.Written + v.Written,
		u.Output + v.Output,
		u.Reasoning + v.Reasoning,
		u.Total + v.Total,
	}
}

func (u codexUsage) String() string {
	text, _ := json.Marshal(u) // cannot fail
	return string(text)
}

// codexSessions begins threads below a home of Codex.
func codexSessions(home string) func(*load) *author {
	return func(l *load) *author {
		f := newCodexFile(l, &author{turns: 5 + l.rand.IntN(40)}, home, time.Now())
		f.meta("")
		return f.a
	}
}

func newCodexFile(l *load, a *author, home string, now time.Time) *codexThreadFile {
	f := &codexThreadFile{
		l:      l,
		a:      a,
		folder: filepath.Join(home, "sessions", now.Format("2006/01/02")),
		now:    now,
		basis:  12_000 + l.rand.Int64N(6000),
		cycles: 1,
	}
	f.id = f.uuid()
	f.root, f.window = f.id, f.uuid()
	f.path = f.name("")
	a.next = f.next
	return f
}

// uuid is of version 7: it begins with the time.
func (f *codexThreadFile) uuid() string {
	ms := f.now.UnixMilli()
	r := f.l.rand
	return fmt.Sprintf("%08x-%04x-7%03x-8%03x-%012x", ms>>16, ms&0xffff, r.IntN(1<<12), r.IntN(1<<12), r.Uint64()>>16)
}

func (f *codexThreadFile) name(segment string) string {
	return filepath.Join(f.folder, "rollout-"+f.now.Format("2006-01-02T15-04-05")+"-"+f.id+segment+".jsonl")
}

// record writes one line.
func (f *codexThreadFile) record(kind, payload string, v ...any) {
	f.now = f.now.Add(time.Duration(1+f.l.rand.IntN(200)) * time.Millisecond)
	body := fmt.Sprintf(`"type":%q,"payload":%s}`, kind, fmt.Sprintf(payload, v...))
	line := fmt.Sprintf(
		`{"timestamp":%q,"ordinal":%d,%s`+"\n",
		f.now.UTC().Format("2006-01-02T15:04:05.000Z"),
		f.ordinal,
		body,
	)
	f.a.queue = append(f.a.queue, queued{f.path, []byte(line)})
	f.ordinal++
	f.size += int64(len(line))
	if f.past = append(f.past, body); len(f.past) > 30 {
		f.past = f.past[1:]
	}
	if f.now.After(f.a.due) {
		f.a.due = f.now
	}
}

// meta is the first record of a file; more are members of it.
func (f *codexThreadFile) meta(more string) {
	f.record("session_meta", `{"account_scoped":true,"session_id":%q,"id":%q,%s"timestamp":%q,"cwd":"/srv/dev/p","runtime_workspace_roots":["/srv/dev/p"],"originator":"codex-tui","cli_version":"0.169.0","source":"cli","thread_source":"user","model_provider":"openai","base_instructions":{"text":%q},"history_mode":"paginated","context_window":{"window_id":%q},"git":{}}`,
		f.root, f.id, more, f.now.UTC().Format(time.RFC3339Nano), f.prose(4000), f.window)
	f.note()
}

// prose is text of so many bytes or less.
func (f *codexThreadFile) prose(n int) string {
	return strings.Repeat("It \"went\" so, {\\} é. ", f.l.rand.IntN(n+1)/21)
}

// next is what happens next in the thread.
func (f *codexThreadFile) next(now time.Time) {
	if now.After(f.now) {
		f.now = now
	}
	switch k := f.l.rand.IntN(100); {
	case k < 4 && f.context > 0:
		f.compactByHand()
		return
	case k < 7 && f.context > 0:
		f.rewind()
	case k < 9 && f.context > 0:
		f.fork()
	}
	f.turn(`"turn_trigger":"user","parent_turn_id":null`, 1+f.l.rand.IntN(6))
	if f.l.chance(8) {
		f.subagent()
	}
}

// turn is a prompt with so many responses to it.
func (f *codexThreadFile) turn(attribution string, responses int) {
	turn := f.started(`"turn_attribution":{"turn_id":%q,` + attribution + `},`)
	if f.context >= codexLimit {
		f.compact(turn)
	}
	f.record(
		"event_msg",
		`{"type":"item_completed","thread_id":%q,"turn_id":%q,"item":{"type":"UserMessage","id":%q,"content":[{"type":"text","text":%q,"text_elements":[]}]}}`,
		f.id,
		turn,
		f.uuid(),
		f.prose(300),
	)
	for i := range responses {
		call := f.uuid()
		f.record(
			"response_item",
			`{"type":"reasoning","id":"rs_%s","summary":[{"type":"summary_text","text":"**Thinking**"}],"content":null,"encrypted_content":%q}`,
			call,
			f.prose(900),
		)
		if i == responses-1 {
			break
		}
		f.record(
			"response_item",
			`{"type":"custom_tool_call","id":"ctc_%s","status":"completed","call_id":"call_%s","name":"exec","input":"await tools.exec_command({\"cmd\":\"go test ./...\"})"}`,
			call,
			call,
		)
		f.spend(turn, 200+f.l.rand.Int64N(9000))
		f.record(
			"event_msg",
			`{"type":"item_completed","thread_id":%q,"turn_id":%q,"item":{"type":"CommandExecution","id":"exec-%s","command":["/bin/bash","-lc","go test ./..."],"aggregated_output":%q,"exit_code":0}}`,
			f.id,
			turn,
			call,
			f.prose(6000),
		)
		f.record(
			"response_item",
			`{"type":"custom_tool_call_output","call_id":"call_%s","output":[{"type":"input_text","text":%q}]}`,
			call,
			f.prose(6000),
		)
		f.count()
		if f.context >= codexLimit || f.l.chance(1) {
			f.compact(turn)
		}
	}
	if f.l.chance(5) {
		f.record("event_msg", `{"type":"turn_aborted","turn_id":%q,"reason":"interrupted"}`, turn)
	} else {
		f.record(
			"response_item",
			`{"type":"message","id":"msg_%s","role":"assistant","content":[{"type":"output_text","text":%q}],"phase":"final_answer"}`,
			turn,
			f.prose(1500),
		)
		f.spend(turn, 100+f.l.rand.Int64N(900))
		f.count()
		if f.l.chance(20) { // after a retry, or new rate limits
			f.count()
		}
		f.record("event_msg", `{"type":"task_complete","turn_id":%q,"last_agent_message":%q}`, turn, f.prose(200))
	}
	f.note()
}

// started begins a turn; a %q in what attributes it is its id.
func (f *codexThreadFile) started(attribution string) (turn string) {
	turn = f.uuid()
	if attribution != "" {
		attribution = fmt.Sprintf(attribution, turn)
	}
	f.record(
		"event_msg",
		`{"type":"task_started",%s"turn_id":%q,"root_turn_id":%q,"model_context_window":%d,"collaboration_mode_kind":"default"}`,
		attribution,
		turn,
		turn,
		codexWindow,
	)
	f.record(
		"turn_context",
		`{"turn_id":%q,"cwd":"/srv/dev/p","approval_policy":"never","model":"gpt-6-sol","comp_hash":"3000"}`,
		turn,
	)
	return turn
}

// spend is a response, after which the context has grown.
func (f *codexThreadFile) spend(turn string, grow int64) {
	f.basis += grow
	f.context = f.basis
	f.cost(turn)
}

// cost is what a response costs that has the whole context as its input.
func (f *codexThreadFile) cost(turn string) {
	r := f.l.rand
	u := codexUsage{Output: 20 + r.Int64N(80), Total: f.basis}
	u.Input = u.Total - u.Output
	u.Cached = r.Int64N(u.Input)
	if r.IntN(3) == 0 {
		u.Written = r.Int64N(u.Input - u.Cached)
	}
	u.Reasoning = r.Int64N(u.Output)
	f.last, f.total = u, f.total.plus(u)
	f.record(
		"token_usage_record",
		`{"thread_id":%q,"turn_id":%q,"session_id":%q,"response_id":"resp_%s","usage":%v,"turn_token_usage":%v,"thread_token_usage":%v}`,
		f.id,
		turn,
		f.root,
		f.uuid(),
		u,
		u,
		f.total,
	)
	w := &f.l.truth
	w.count(`agent_tokens_total{client="codex",kind="input"}`, u.Input-u.Cached-u.Written)
	w.count(`agent_tokens_total{client="codex",kind="output"}`, u.Output)
	w.count(`agent_tokens_total{client="codex",kind="cache_read"}`, u.Cached)
	w.count(`agent_tokens_total{client="codex",kind="cache_creation"}`, u.Written)
}

func (f *codexThreadFile) count() {
	f.record("event_msg", `{"type":"token_count","info":{"total_token_usage":%v,"last_token_usage":%v,"last_usage_includes_reasoning":true,"model_context_window":%d},"rate_limits":{"limit_id":"codex","primary":{"used_percent":12.5,"window_minutes":300,"resets_at":%d}}}`,
		f.total, f.last, codexWindow, f.now.Add(time.Hour).Unix())
}

// compact sums the context up within a turn.
func (f *codexThreadFile) compact(turn string) {
	f.compacted(turn)
	f.l.truth.count(`agent_compactions_total{client="codex",trigger="auto"}`, 1)
}

func (f *codexThreadFile) compactByHand() {
	f.compacted(f.started(""))
	f.l.truth.count(`agent_compactions_total{client="codex",trigger="manual"}`, 1)
	f.record("event_msg", `{"type":"task_complete","last_agent_message":null}`)
	f.note()
}

func (f *codexThreadFile) compacted(turn string) {
	f.count() // the newest once more
	f.cost(turn)
	f.count()
	previous := f.window
	f.window = f.uuid()
	f.windows++
	f.record(
		"compacted",
		`{"message":%q,"replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}],"window_number":%d,"window_id":%q,"previous_window_id":%q}`,
		f.prose(3000),
		f.prose(9000),
		f.windows,
		f.window,
		previous,
	)
	f.basis = 12_000 + f.l.rand.Int64N(20_000)
	f.last = codexUsage{Total: f.basis - 500} // the client's own estimate
	f.count()
	f.record(
		"event_msg",
		`{"type":"item_completed","thread_id":%q,"turn_id":%q,"item":{"type":"ContextCompaction","id":%q}}`,
		f.id,
		turn,
		f.uuid(),
	)
	f.context = 0
	f.compactions++
	f.cycles++
}

// rewind goes on in another file, from a point in this one on.
func (f *codexThreadFile) rewind() {
	back := f.l.rand.IntN(f.ordinal)
	f.path = f.name("_" + f.uuid())
	f.basis = 12_000 + f.l.rand.Int64N(f.basis-11_999)
	f.ordinal = f.ordinal - back
	f.size = 0
	f.cycles++
	f.meta(fmt.Sprintf(
		`"history_base":{"thread_id":%q,"end_ordinal_exclusive":%d,"end_byte_offset":1},`,
		f.id,
		f.ordinal,
	))
}

// fork begins a thread that goes on where this one is.
func (f *codexThreadFile) fork() {
	a := &author{turns: 1 + f.l.rand.IntN(20)}
	n := newCodexFile(f.l, a, filepath.Clean(filepath.Join(f.folder, "../../../..")), f.now)
	n.basis = f.basis
	n.total = f.total
	n.ordinal = f.ordinal
	n.meta(fmt.Sprintf(
		`"forked_from_id":%q,"forked_from_ordinal_exclusive":%d,"history_base":{"thread_id":%q,"end_ordinal_exclusive":%d,"end_byte_offset":%d},`,
		f.id,
		f.ordinal,
		f.id,
		f.ordinal,
		f.size,
	))
	f.l.live[f.l.rand.IntN(len(f.l.live))].turns = 0 // one ends where one begins
	f.l.live = append(f.l.live, a)
}

// subagent is a thread whose file begins with a copy of the parent's prompts.
func (f *codexThreadFile) subagent() {
	n := newCodexFile(f.l, &author{}, "", f.now)
	n.a = f.a
	n.folder = f.folder
	n.root = f.root
	n.parent = f.id
	n.path = n.name("")
	var copied []string
	for _, body := range f.past {
		if !strings.Contains(body, `"token_count"`) && !strings.Contains(body, `"token_usage_record"`) {
			copied = append(copied, body)
		}
	}
	n.meta(fmt.Sprintf(
		`"forked_from_id":%q,"parent_thread_id":%q,"subagent_history_start_ordinal":%d,`,
		f.id,
		f.id,
		1+len(copied),
	))
	for _, body := range copied {
		line := fmt.Sprintf(
			`{"timestamp":%q,"ordinal":%d,%s`+"\n",
			n.now.UTC().Format("2006-01-02T15:04:05.000Z"),
			n.ordinal,
			body,
		)
		f.a.queue = append(f.a.queue, queued{n.path, []byte(line)})
		n.ordinal++
	}
	n.turn(fmt.Sprintf(`"turn_trigger":"agent","parent_turn_id":%q`, f.uuid()), 1+f.l.rand.IntN(4))
}

// note keeps what the thread is to be seen as.
func (f *codexThreadFile) note() {
	w := &f.l.truth
	w.Sessions[f.id] = seat{Context: f.context, Compactions: f.compactions}
	w.cycles[f.id] = f.cycles
}
