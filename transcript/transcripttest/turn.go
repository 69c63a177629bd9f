package transcripttest

import (
	"cmp"
	"strconv"
	"time"
)

// Prompt writes what a user typed; empty text is invented.
func (s *Session) Prompt(text string) {
	s.Pass(time.Duration(2+s.rng.IntN(40)) * time.Second)
	r := s.prompt(text)
	s.snapshot(r)
	s.write(r)
}

func (s *Session) prompt(text string) *record {
	if text == "" {
		text = words(s.rng, 3+s.rng.IntN(12))
	}
	m := members(nil).str("type", "user").open("message").str("role", "user")
	if s.chance(15) {
		m = append(m.key("content"), `[{"type":"text"`...)
		m = append(m.str("text", text), "}]"...)
	} else {
		m = m.str("content", text)
	}
	r := s.body(m.shut())
	s.calls = nil
	if s.client.trailing() {
		s.promptID = newUUID(s.rng)
		r.promptID = s.promptID
	}
	r.extra = s.promptExtra()
	r.effect.deed = begins
	return r
}

func (s *Session) promptExtra() members {
	var m members
	if s.client.thinking() {
		m = m.raw("thinkingMetadata", `{"level":"none","disabled":false,"triggers":[]}`)
		if s.client.snapshots() {
			m = m.raw("todos", "[]")
		}
	}
	if s.client.permission() {
		m = m.str("permissionMode", "default")
	}
	if s.client.origins() {
		m = m.raw("origin", `{"kind":"human"}`).str("promptSource", "typed")
	}
	return m
}

// Shape is how a usage object tells its figures.
type Shape uint8

// The shapes.
const (
	// Plain has cache creation at the top and, in later clients, nested.
	Plain Shape = iota
	// NestedOnly has it nested alone, as behind some gateways.
	NestedOnly
	// Iterated lists several calls and their sum.
	Iterated
)

// Reply says what an assistant message is like. The zero value is a short text of
// one line after which the context has grown a little.
type Reply struct {
	// Context is the size that the message reads; 0: grown.
	Context int64
	// Output is the message's output; 0: invented.
	Output int64
	// Tools calls as many tools, each a line of its own that waits for a
	// ToolResult; Task makes them subagents, and Input is the size of what they
	// are called with.
	Tools, Input int
	Task         bool
	// Text is the size of the text; 0: a sentence; negative: no line of text.
	Text int
	// Thinking writes a line of thoughts before.
	Thinking bool
	// Model is another one than the session's.
	Model string
	Shape Shape
}

// message is an API message while its lines are written.
type message struct {
	id, request, model string
	tokens             Tokens // input and cache; the output of its last line
	context            int64
	shape              Shape
	stop               string
}

// Reply writes an API message.
func (s *Session) Reply(o Reply) {
	msg := s.message(o)
	var contents []members
	if o.Thinking {
		contents = append(contents, s.thought())
	}
	if o.Text >= 0 || o.Tools == 0 {
		contents = append(contents, s.sentence(o.Text))
	}
	for range o.Tools {
		contents = append(contents, s.toolUse(o))
		msg.stop = "tool_use"
	}
	waiting := len(s.calls) - o.Tools
	total := msg.tokens.Output
	for i, content := range contents {
		last := i == len(contents)-1
		if msg.tokens.Output = total; !last && s.client.partial() {
			msg.tokens.Output = 1 + s.rng.Int64N(total)
		}
		r := s.lineOf(msg, content, last)
		if tool := i - (len(contents) - o.Tools); tool >= 0 {
			s.calls[waiting+tool].uuid = r.uuid
		}
		s.write(r)
		s.writeLate()
	}
	s.context, s.output = msg.context, total
}

func (s *Session) message(o Reply) *message {
	context := o.Context
	if context == 0 {
		context = s.context + 150 + s.rng.Int64N(3_000)
	}
	output := o.Output
	if output == 0 {
		output = 2 + s.rng.Int64N(900)
	}
	input := min(context, 1+s.rng.Int64N(12))
	creation := min(context-input, max(0, context-s.context)+s.rng.Int64N(2_000))
	msg := &message{
		id: newID(s.rng, "msg_01"), request: newID(s.rng, "req_011C"), model: cmp.Or(o.Model, s.model),
		tokens:  Tokens{Input: input, CacheCreation: creation, CacheRead: context - input - creation, Output: output},
		context: context, shape: o.Shape, stop: "end_turn",
	}
	if msg.shape == Iterated {
		// The last call reads context; the sum is larger by an earlier call.
		msg.tokens = msg.tokens.plus(msg.earlier())
	}
	return msg
}

// earlier is what the first of an iterated message's calls cost.
func (m *message) earlier() Tokens {
	return Tokens{Input: 3, CacheCreation: 100, CacheRead: m.context / 2, Output: 5}
}

// lineOf makes the record of one line of a message.
func (s *Session) lineOf(msg *message, content members, last bool) *record {
	m := members(nil)
	if s.client.bare() {
		m = m.str("type", "assistant")
	}
	m = m.open("message")
	if !s.client.bare() {
		m = s.messageHead(m, msg).raw("content", "[")
		m = append(append(m, content...), ']')
		stop := msg.stop
		if !last && !s.client.stops() {
			stop = ""
		}
		m = m.strOrNull("stop_reason", stop).raw("stop_sequence", "null")
	}
	r := s.body(m.key("usage"))
	r.usage = s.usage(msg, last)
	var b members
	if s.client.in(2_001_190, 0) {
		b = append(b, `,"stop_details":null`...)
	}
	b = append(b, '}')
	if !s.client.bare() {
		b = b.str("requestId", msg.request)
		if s.agent != "" && s.client.trailing() {
			b = b.str("attributionAgent", "general-purpose")
		}
		b = b.str("type", "assistant")
	}
	r.back = b
	r.effect = effect{deed: reads, message: msg.id, tokens: msg.tokens, context: msg.context, model: msg.model}
	if s.client.bare() {
		r.effect.message, r.effect.model = "", ""
	}
	return r
}

func (s *Session) messageHead(m members, msg *message) members {
	if s.client.modelFirst() {
		return m.str("model", msg.model).str("id", msg.id).str("type", "message").str("role", "assistant")
	}
	return m.str("id", msg.id).str("type", "message").str("role", "assistant").str("model", msg.model)
}

// usage is the usage object of one line.
func (s *Session) usage(msg *message, last bool) []byte {
	t := msg.tokens
	flat, five := t.CacheCreation, int64(0)
	if msg.shape == NestedOnly {
		flat, five = 0, t.CacheCreation/3
	}
	nested := members{'{'}.num("ephemeral_1h_input_tokens", t.CacheCreation-five).num("ephemeral_5m_input_tokens", five).shut()
	m := members{'{'}.num("input_tokens", t.Input).num("cache_creation_input_tokens", flat).num("cache_read_input_tokens", t.CacheRead)
	details := s.client.details() && (last || s.client.stops())
	if !details && (s.client.nested() || msg.shape == NestedOnly) {
		m = m.raw("cache_creation", string(nested))
	}
	m = m.num("output_tokens", t.Output)
	if details {
		m = m.raw("server_tool_use", `{"web_search_requests":0,"web_fetch_requests":0}`)
	}
	if !s.client.bare() {
		m = m.str("service_tier", "standard")
	}
	if details {
		m = m.raw("cache_creation", string(nested)).str("inference_geo", "")
	}
	if details || msg.shape == Iterated {
		m = m.raw("iterations", string(s.iterations(msg))).str("speed", "standard")
	}
	return m.shut()
}

// iterations lists the calls of a message: none or one, which say what the top
// says, or an earlier one, one of an advisor and the last.
func (s *Session) iterations(msg *message) members {
	list := members{'['}
	one := func(kind string, t Tokens) {
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, '{')
		list = list.num("input_tokens", t.Input).num("output_tokens", t.Output).num("cache_read_input_tokens", t.CacheRead).
			num("cache_creation_input_tokens", t.CacheCreation).str("type", kind).shut()
	}
	switch {
	case msg.shape == Iterated:
		call := msg.earlier()
		one("message", call)
		one("advisor_message", Tokens{Input: 40_000, Output: 5})
		rest := msg.tokens.minus(call)
		rest.Output = max(0, rest.Output)
		one("message", rest)
	case s.client.in(2_001_150, 0):
		one("message", msg.tokens)
	}
	return append(list, ']')
}

func (s *Session) thought() members {
	return members{'{'}.str("type", "thinking").str("thinking", words(s.rng, 6)).str("signature", newWord(s.rng, "", "ABCDEFabcdef0123456789+/", 80)).shut()
}

func (s *Session) sentence(size int) members {
	m := members{'{'}.str("type", "text")
	if size <= 0 {
		return m.str("text", words(s.rng, 2+s.rng.IntN(10))+".").shut()
	}
	return m.quoted("text", s.prose.take(s.rng, size)).shut()
}

// toolUse is the block that calls a tool, which then waits for its result.
func (s *Session) toolUse(o Reply) members {
	id := newID(s.rng, "toolu_01")
	s.calls = append(s.calls, call{id: id, task: o.Task})
	m := members{'{'}.str("type", "tool_use").str("id", id)
	switch {
	case o.Task:
		m = m.str("name", "Task").open("input").str("description", "look").str("prompt", words(s.rng, 9)).str("subagent_type", "general-purpose")
	case o.Input > 0:
		m = m.str("name", "Write").open("input").str("file_path", s.cwd+"/x.go").quoted("content", s.prose.take(s.rng, o.Input))
	default:
		m = m.str("name", "Bash").open("input").str("command", "go test ./..."+strconv.Itoa(s.rng.IntN(99))).str("description", "Run the tests")
	}
	return m.shut().shut()
}
