package transcripttest

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"sm/transcript"
)

// SessionOptions describe a session. Zero fields are drawn from the seed, except
// for Version, which is one of [Versions].
type SessionOptions struct {
	Cwd, Model, Version string
	Start               time.Time
}

// Session writes one transcript, each line with one call of its writer's Write, and
// keeps its figures. A method for records that the session's client does not write
// does nothing. A Session is not safe for concurrent use.
type Session struct {
	w      io.Writer
	err    error
	client *client
	rng    *rand.Rand
	prose  *prose

	project        string // the folder of the file
	id, cwd, model string
	agent          string // id of the subagent that the file belongs to
	prompt         string // id of the newest prompt
	side           bool   // records are those of a subagent
	forgets        bool   // no records are kept for copies
	now            time.Time
	last           string  // uuid of the newest record
	head           *record // the summary that the file begins with
	calls          []call
	context        int64
	output         int64

	books ledger
	kept  []*record
	late  *record // a summary that is written after the next line of a message
	torn  *record // an unterminated last line
	rest  []byte  // of torn
}

// record is one line, in the parts that a copy may change.
type record struct {
	template
	values       map[string]string
	uuid, parent string
	at           time.Time
	more         string // members at the end
	boundary     string // uuid of the boundary that a summary belongs to
	effect       effect
}

// call is a tool call without a result.
type call struct {
	id, caller string
	task       bool
}

// NewSession begins a transcript that is written to w.
func NewSession(w io.Writer, seed uint64, o SessionOptions) *Session {
	rng := rand.New(rand.NewPCG(seed, 1))
	return newSession(w, rng, newProse(rng, 32<<10), o)
}

func newSession(w io.Writer, rng *rand.Rand, text *prose, o SessionOptions) *Session {
	s := &Session{
		w:      w,
		rng:    rng,
		prose:  text,
		client: newClient(o.Version),
	}
	s.id = newUUID(rng)
	s.cwd = cmp.Or(
		o.Cwd,
		"/home/dev/"+pick(rng, []string{"web", "api-server", "läden", "a_b.c"}),
	)
	s.project = folder(s.cwd)
	s.model = cmp.Or(o.Model, pick(rng, s.client.models))
	s.now = o.Start.UTC().Truncate(time.Millisecond)
	if o.Start.IsZero() {
		s.now = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	}
	s.context = 12_000 + rng.Int64N(16_000)
	s.books.costs = map[string]effect{}
	s.books.file.SessionID = s.id
	s.books.file.Family = s.id
	return s
}

// folder returns the name of the client's folder for a working directory.
func folder(cwd string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, cwd)
}

// ID is the session's id. A file of an early client may hold several.
func (s *Session) ID() string { return s.id }

// Now is the time of the newest record.
func (s *Session) Now() time.Time { return s.now }

// Pass advances the session's clock.
func (s *Session) Pass(d time.Duration) { s.now = s.now.Add(d).Truncate(time.Millisecond) }

// Err is the first error of the writer; nothing is written after it.
func (s *Session) Err() error { return s.err }

// Truth returns the figures of the file so far.
func (s *Session) Truth() FileTruth {
	t := s.books.file
	t.AgentID = s.agent
	t.Subagents.Spent = t.Sidechain
	return t
}

// Path is that of the file below the client's projects directory.
func (s *Session) Path() string {
	id := s.books.file.SessionID
	switch {
	case s.agent == "":
		return path.Join(s.project, id+".jsonl")
	case s.client.is("subagents"):
		return path.Join(s.project, id, "subagents", "agent-"+s.agent+".jsonl")
	}
	return path.Join(s.project, "agent-"+s.agent+".jsonl")
}

// value returns what a name in a template stands for.
func (s *Session) value(r *record, name string) string {
	switch name {
	case "session":
		return s.id
	case "cwd":
		return s.cwd
	case "branch":
		return "feature/über"
	case "version":
		return s.client.version
	case "prompt":
		return s.prompt
	case "side":
		return strconv.FormatBool(r.effect.side)
	case "agent":
		if s.agent == "" {
			return ""
		}
		return `"agentId":"` + s.agent + `",`
	case "parent":
		if r.parent == "" {
			return "null"
		}
		return `"` + r.parent + `"`
	case "uuid":
		return r.uuid
	case "time":
		return r.at.Format("2006-01-02T15:04:05.000Z")
	}
	return r.values[name]
}

func (s *Session) render(r *record) []byte {
	var b []byte
	for i, part := range r.template {
		if i%2 == 1 {
			part = s.value(r, part)
		}
		b = append(b, part...)
	}
	if r.more != "" && r.has("uuid") {
		b = append(append(b[:len(b)-1], r.more...), '}')
	}
	return append(b, '\n')
}

// record begins a record of that kind.
func (s *Session) record(kind string, values map[string]string) *record {
	s.Pass(time.Duration(1+s.rng.IntN(400)) * time.Millisecond)
	return &record{
		template: pick(s.rng, s.client.records[kind]),
		values:   values,
		uuid:     newUUID(s.rng),
		parent:   s.last,
		at:       s.now,
		effect:   effect{side: s.side || s.agent != ""},
	}
}

// put writes to the file.
func (s *Session) put(b []byte) {
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
	s.books.file.Bytes += int64(len(b))
}

// line writes a line without counting what it means.
func (s *Session) line(b []byte) {
	s.EndTail()
	s.put(b)
	s.books.file.Lines++
}

// write writes a record.
func (s *Session) write(r *record) {
	s.line(s.render(r))
	s.account(r)
}

// account counts a record, and keeps it for copies.
func (s *Session) account(r *record) {
	file := &s.books.file
	if r.has("version") {
		file.Version = s.client.version
		file.Cwd = s.cwd
	}
	at := r.at
	if !r.has("time") {
		at = time.Time{}
	}
	s.books.seen(at)
	s.books.book(r.effect, at)
	if !r.has("uuid") {
		return
	}
	s.last = r.uuid
	if !s.forgets {
		s.kept = append(s.kept, r)
	}
}

// Prompt writes what a user typed; an empty text is invented.
func (s *Session) Prompt(text string) {
	s.Pass(time.Duration(2+s.rng.IntN(40)) * time.Second)
	s.write(s.prompted(text))
}

func (s *Session) prompted(text string) *record {
	content := quote(cmp.Or(text, words(s.rng, 3+s.rng.IntN(12))))
	if s.chance(15) {
		content = `[{"type":"text","text":` + content + `}]`
	}
	s.calls = nil
	s.prompt = newUUID(s.rng)
	r := s.record("prompt", map[string]string{"content": content})
	r.effect.deed = begins
	return r
}

// user writes a user record that is not a prompt.
func (s *Session) user(text, more string) {
	if s.client.has("user") {
		r := s.record("user", map[string]string{"content": quote(text)})
		r.more = more
		s.write(r)
	}
}

// command writes the records of a command of the client.
func (s *Session) command(name, output string) {
	const caveat = "Caveat: The messages below were generated by the user while running local commands."
	s.user(caveat, `,"isMeta":true`)
	s.user(
		"<command-name>"+name+"</command-name>\n<command-message>"+name[1:]+"</command-message>",
		"",
	)
	s.user("<local-command-stdout>"+output+"</local-command-stdout>", "")
}

// Reply describes an API message. The zero value is a short text after which the
// context has grown a little.
type Reply struct {
	Context  int64 // the size that the message reads; 0: grown
	Tools    int   // tool calls, each in a line of its own
	Input    int   // size of the tools' input
	Task     bool  // the tools are subagents
	Text     int   // size of the text; 0: a sentence; negative: no text
	Thinking bool
	Model    string
	Shape    Shape
}

// Shape is a way to spell the figures of a message.
type Shape int

// The shapes.
const (
	Plain      Shape = iota
	NestedOnly       // cache creation in the nested object alone
	Iterated         // with several calls, which the figures at the top sum up
)

// Reply writes an API message.
func (s *Session) Reply(o Reply) {
	m := s.message(o)
	var contents []string
	if o.Thinking {
		contents = append(
			contents,
			`{"type":"thinking","thinking":"hm","signature":"`+newID(s.rng, "")+`"}`,
		)
	}
	if o.Text > 0 {
		contents = append(
			contents,
			`{"type":"text","text":"`+s.prose.take(s.rng, o.Text)+`"}`,
		)
	} else if o.Text == 0 || o.Tools == 0 {
		contents = append(contents, `{"type":"text","text":`+quote(words(s.rng, 9))+`}`)
	}
	for range o.Tools {
		contents = append(contents, s.toolUse(o))
	}

	for i, content := range contents {
		last := i == len(contents)-1
		r := s.reply(m, content, last)
		if tool := len(contents) - i; tool <= o.Tools {
			s.calls[len(s.calls)-tool].caller = r.uuid
		}
		s.write(r)
		s.writeLate()
	}
	s.context = m.context
	s.output = m.tokens.Output
}

// message is an API message before its lines are written.
type message struct {
	id, request, model, stop string
	first, last, tokens      Tokens // of the first call, of the last call, and in all
	context                  int64
	shape                    Shape
}

func (s *Session) message(o Reply) *message {
	context := o.Context
	if context == 0 {
		context = s.context + 150 + s.rng.Int64N(3_000)
	}
	input := min(context, 1+s.rng.Int64N(12))
	creation := min(context-input, max(0, context-s.context)+s.rng.Int64N(2_000))
	m := &message{
		id:      newID(s.rng, "msg_01"),
		request: newID(s.rng, "req_011C"),
		model:   cmp.Or(o.Model, s.model),
		stop:    `"end_turn"`,
		last: Tokens{
			Input:         input,
			CacheCreation: creation,
			CacheRead:     context - input - creation,
			Output:        2 + s.rng.Int64N(900),
		},
		context: context,
		shape:   o.Shape,
	}
	if o.Tools > 0 {
		m.stop = `"tool_use"`
	}
	if o.Shape == Iterated &&
		slices.ContainsFunc(s.client.records["reply"][0], isIterations) {
		m.first = Tokens{
			Input:         3,
			CacheCreation: 100,
			CacheRead:     context / 2,
			Output:        5,
		}
	}
	m.tokens = m.first.Plus(m.last)
	return m
}

// reply returns the record of one line of a message.
func (s *Session) reply(m *message, content string, last bool) *record {
	kind := "reply"
	stop := m.stop
	tokens := m.tokens
	if !last && m.shape != Iterated && s.client.has("partial") {
		kind = "partial"
		stop = "null"
		tokens.Output = 1 + s.rng.Int64N(tokens.Output)
	}
	usage := map[string]int64{
		"input":    tokens.Input,
		"creation": tokens.CacheCreation,
		"read":     tokens.CacheRead,
		"created":  tokens.CacheCreation,
		"hour":     tokens.CacheCreation,
		"output":   tokens.Output,
	}
	r := s.record(kind, nil)
	switch {
	case m.shape == NestedOnly && r.has("minutes"):
		usage["creation"] = 0
		usage["minutes"] = tokens.CacheCreation / 3
		usage["hour"] -= usage["minutes"]
	case m.shape == Iterated && slices.ContainsFunc(r.template, isIterations):
		r.template = iterated(r.template, m.first, m.last)
	}

	r.values = map[string]string{
		"content": content,
		"message": m.id,
		"request": m.request,
		"model":   m.model,
		"stop":    stop,
		"minutes": "0",
	}
	for name, n := range usage {
		r.values[name] = strconv.FormatInt(n, 10)
	}
	r.effect.deed = reads
	r.effect.tokens = tokens
	r.effect.context = m.context
	if r.has("message") {
		r.effect.message = m.id
		r.effect.model = m.model
	}
	return r
}

const iterations = `"iterations":[`

func isIterations(text string) bool { return strings.Contains(text, iterations) }

// iterated replaces the calls in a template by one before, one of an advisor, and
// the last one.
func iterated(t template, before, last Tokens) template {
	begin := slices.IndexFunc(t, isIterations)
	end := begin
	head, tail, _ := strings.Cut(t[begin], iterations)
	for !strings.Contains(tail, "]") {
		end++
		tail = t[end]
	}
	_, tail, _ = strings.Cut(tail, "]")

	var calls []string
	for _, tokens := range []Tokens{before, {Input: 40_000, Output: 5}, last} {
		kind := "message"
		if tokens.Input == 40_000 {
			kind = "advisor_message"
		}
		calls = append(calls, fmt.Sprintf(`{"input_tokens":%d,"output_tokens":%d,"cache_read_input_tokens":%d,`+
			`"cache_creation_input_tokens":%d,"type":%q}`,
			tokens.Input, tokens.Output, tokens.CacheRead, tokens.CacheCreation, kind))
	}
	text := head + iterations + strings.Join(calls, ",") + "]" + tail
	return slices.Concat(t[:begin], template{text}, t[end+1:])
}

// toolUse returns the block that calls a tool.
func (s *Session) toolUse(o Reply) string {
	c := call{id: newID(s.rng, "toolu_01"), task: o.Task}
	s.calls = append(s.calls, c)
	name := "Bash"
	input := fmt.Sprintf(`"command":"go test ./...%d"`, s.rng.IntN(99))
	switch {
	case o.Task:
		name = "Task"
		input = `"description":"look","prompt":"look","subagent_type":"general-purpose"`
	case o.Input > 0:
		name, input = "Write", `"file_path":"/x.go","content":"`+s.prose.take(
			s.rng,
			o.Input,
		)+`"`
	}
	return fmt.Sprintf(
		`{"type":"tool_use","id":%q,"name":%q,"input":{%s}}`,
		c.id,
		name,
		input,
	)
}

// Result describes a tool's result. The text is in the record twice.
type Result struct {
	Size  int
	Error bool
}

// ToolResult answers the oldest call of a tool, or an unknown one.
func (s *Session) ToolResult(o Result) {
	c := call{id: newID(s.rng, "toolu_01"), caller: newUUID(s.rng)}
	if len(s.calls) > 0 {
		c = s.calls[0]
		s.calls = s.calls[1:]
	}
	kind := "result"
	if c.task && s.client.has("task") {
		kind = "task"
	}
	s.write(s.record(kind, map[string]string{
		"text":   s.prose.take(s.rng, o.Size),
		"error":  strconv.FormatBool(o.Error),
		"call":   c.id,
		"caller": c.caller,
	}))
}

// Noise writes a record without meaning for the figures.
func (s *Session) Noise(size int) {
	s.writeKind("noise", map[string]string{"text": s.prose.take(s.rng, size)})
}

// TurnDuration ends a turn.
func (s *Session) TurnDuration() { s.writeKind("turn-end", nil) }

// Interrupt ends a turn as the user does.
func (s *Session) Interrupt() { s.writeKind("interrupt", nil) }

func (s *Session) writeKind(kind string, values map[string]string) {
	if s.client.has(kind) {
		s.write(s.record(kind, values))
	}
}

// Compaction describes a compaction. Clients before 1.0.120 write a summary and no
// boundary.
type Compaction struct {
	Trigger transcript.Trigger
	// SummaryFirst writes the summary before its boundary, SummaryLate after the
	// first line of the next reply.
	SummaryFirst, SummaryLate bool
	// Unlinked omits the boundary from the parent of the summary, Unanchored the
	// summary from the boundary.
	Unlinked, Unanchored bool
}

// Compact writes a compaction.
func (s *Session) Compact(o Compaction) {
	s.Pass(time.Duration(4+s.rng.IntN(30)) * time.Second)
	s.writeLate()
	switch {
	case !s.client.has("user"):
		r := s.record("summary", map[string]string{"text": words(s.rng, 3)})
		r.effect.deed = titles
		r.effect.trigger = transcript.Unknown
		s.write(r)
	case !s.client.has("boundary"):
		r := s.summary()
		r.parent = ""
		r.effect.deed = compacts
		r.effect.trigger = transcript.Unknown
		s.write(r)
	default:
		s.boundary(o)
	}
	if o.Trigger == Manual {
		s.calls = nil
		s.command("/compact", "Compacted")
	}
	s.context = min(s.context, 20_000+s.rng.Int64N(30_000))
}

// summary begins the record with a compaction's summary.
func (s *Session) summary() *record {
	text := "This session is being continued from a previous conversation. " +
		words(s.rng, 20) + s.prose.take(s.rng, 400)
	return s.record("summary", map[string]string{"text": text})
}

func (s *Session) boundary(o Compaction) {
	boundary := s.record("boundary", nil)
	summary := s.summary()
	summary.parent = boundary.uuid
	summary.boundary = boundary.uuid
	boundary.values = map[string]string{
		"trigger": o.Trigger.String(),
		"size":    strconv.FormatInt(s.context+s.output, 10),
		"logical": boundary.parent,
		"anchor":  summary.uuid,
	}
	boundary.parent = ""
	boundary.effect.deed = compacts
	boundary.effect.trigger = o.Trigger
	if o.Unanchored {
		boundary.values["anchor"] = newUUID(s.rng)
	}
	if o.Unlinked &&
		(!o.SummaryFirst && !o.SummaryLate || boundary.has("anchor") && !o.Unanchored) {
		summary.parent = newUUID(s.rng)
	}

	switch {
	case o.SummaryFirst:
		summary.effect.deed = compacts
		summary.effect.trigger = transcript.Unknown
		boundary.effect.deed = merges
		s.write(summary)
		s.write(boundary)
		s.last = summary.uuid
	case o.SummaryLate && s.client.is("late-summaries"):
		last := s.last
		s.write(boundary)
		s.last = last
		s.late = summary
	default:
		s.write(boundary)
		s.write(summary)
	}
}

func (s *Session) writeLate() {
	if r := s.late; r != nil {
		last := s.last
		s.late = nil
		s.write(r)
		s.last = last
	}
}

// Clear begins another session, as /clear does: early clients in the same file, for
// which it returns s, others in a file of its own, written to w.
func (s *Session) Clear(w io.Writer) *Session {
	next := s
	switch {
	case !s.client.has("user"):
		return s
	case s.client.is("same-file-clear"):
		s.id = newUUID(s.rng)
	default:
		next = s.spawn(w)
	}
	next.last = ""
	next.calls = nil
	next.context = 12_000 + s.rng.Int64N(9_000)
	next.command("/clear", "")
	return next
}

// Upgrade goes on with another version of the client.
func (s *Session) Upgrade(version string) {
	s.client = newClient(version)
	s.id = s.books.file.SessionID
}

// Blank writes a line of white space, which does not count as one.
func (s *Session) Blank() {
	s.EndTail()
	s.put([]byte(pick(s.rng, []string{"\n", " \n", "\r\n", "\t  \n"})))
}

// Break writes a line that is not a record.
func (s *Session) Break() {
	r := s.reply(s.message(Reply{}), `{"type":"text","text":"lost"}`, true)
	good := strings.TrimSuffix(string(s.render(r)), "\n")
	cut := 1 + s.rng.IntN(len(good)-1)
	s.line([]byte(pick(s.rng, []string{
		good[:cut],
		good[:cut] + good,
		good + good,
		"\x00\x00\x00" + good,
		"[" + good + "]",
		good[:len(good)-1] + ",}",
		"Killed",
		"null",
	}) + "\n"))
	s.books.file.BadLines++
}

// Tail writes the beginning of a reply, as a reader sees it between two writes or
// after a crash. The rest follows with [Session.EndTail] or the next record.
func (s *Session) Tail() {
	s.EndTail()
	r := s.reply(s.message(Reply{}), `{"type":"text","text":"Done."}`, true)
	line := s.render(r)
	cut := 1 + s.rng.IntN(len(line)-1)
	s.put(line[:cut])
	s.torn = r
	s.rest = line[cut:]
	s.books.file.Tail = int64(cut)
}

// EndTail completes an unterminated line.
func (s *Session) EndTail() {
	r := s.torn
	if r == nil {
		return
	}
	s.torn = nil
	s.line(s.rest)
	s.books.file.Tail = 0
	s.context = r.effect.context
	s.output = r.effect.tokens.Output
	s.account(r)
}

// Replay writes the last n records again, with the same uuids and times, as clients
// do that resume or compact a session.
func (s *Session) Replay(n int) {
	history := s.history()
	for _, r := range history[max(0, len(history)-n):] {
		s.line(s.render(r))
		s.books.seen(r.at)
		if r.has("version") {
			s.books.file.Version = s.client.version
			s.books.file.Cwd = s.cwd
		}
	}
}

// chance is true in n of 100 cases.
func (s *Session) chance(n int) bool { return s.rng.IntN(100) < n }

// clone returns a record that can be changed.
func (r *record) clone() *record {
	c := *r
	c.values = maps.Clone(r.values)
	return &c
}
