package transcripttest

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"sm/transcript"
)

//go:embed content.txtar versions
var data embed.FS

// versions lists the client versions, oldest first.
func versions() []string {
	return strings.Fields("1.0.38 1.0.112 1.0.120 2.0.9 2.0.76 2.1.17 2.1.44 2.1.97 2.1.197 2.1.270")
}

// client holds the records and traits of one version of the client, and the content
// of messages, by kind.
type client map[string][]string

func newClient(version string) client {
	c := client{}
	for _, name := range []string{"content.txtar", "versions/" + version + ".txtar"} {
		text, _ := data.ReadFile(name) // a version has a file
		for _, f := range txtar.Parse(text).Files {
			c[f.Name] = strings.Split(strings.TrimSuffix(string(f.Data), "\n"), "\n")
		}
	}
	return c
}

func (c client) is(trait string) bool { return slices.Contains(c["traits"], trait) }

// Session is one transcript and its figures. A Session is not safe for concurrent
// use.
type Session struct {
	client
	state
	rng       *rand.Rand
	lineBytes int
	now       time.Time
	folder    string // of the file

	text  bytes.Buffer
	kept  []*record
	late  *record // a summary that is written after the next line of a message
	truth FileTruth

	reading, compaction time.Time        // of the newest; of equal times the later line is newer
	outputs             map[string]int64 // charged, by message
}

// state is the part of a session that its sidechains have separately.
type state struct {
	values          map[string]string // of all records
	last            string            // uuid of the newest record, as JSON
	context, output int64
	calls           []*record // with tool calls that have no result
}

// record is one line. Its uuids are encoded as JSON.
type record struct {
	template     string
	values       map[string]string
	uuid, parent string
	at           time.Time

	prompt   bool
	usage    Tokens // of a reply
	compacts bool
	trigger  transcript.Trigger
	side     bool // of a subagent
	copied   bool // counts where it was copied from
}

// NewSession begins a transcript of a version of the client.
func NewSession(seed uint64, version string) *Session {
	return newSession(rand.New(rand.NewPCG(seed, 1)), version, usualStart())
}

func usualStart() time.Time { return time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC) }

func newSession(rng *rand.Rand, version string, start time.Time) *Session {
	s := &Session{
		client:  newClient(version),
		rng:     rng,
		now:     start.UTC().Truncate(time.Millisecond),
		outputs: map[string]int64{},
	}
	cwd := "/home/dev/" + pick(rng, []string{"web", "api-server", "läden", "a_b.c"})
	s.folder = strings.NewReplacer("/", "-", "ä", "-", "_", "-", ".", "-").Replace(cwd)
	id := newUUID(rng)
	s.truth.SessionID = id
	s.truth.Family = id
	s.state = state{last: "null", context: 12_000 + rng.Int64N(16_000)}
	s.values = map[string]string{
		"session": id,
		"cwd":     cwd,
		"branch":  "feature/über",
		"version": version,
		"model":   pick(rng, s.client["models"]),
		"side":    "false",
		"prompt":  "null",
	}
	return s
}

// spawn begins another session of the same client and in the same folder.
func (s *Session) spawn() *Session {
	n := newSession(s.rng, s.values["version"], s.now)
	n.folder = s.folder
	n.lineBytes = s.lineBytes
	n.values["cwd"] = s.values["cwd"]
	n.values["model"] = s.values["model"]
	return n
}

// ID returns the session's id.
func (s *Session) ID() string { return s.truth.SessionID }

// Now returns the time of the newest record.
func (s *Session) Now() time.Time { return s.now }

// Bytes returns the transcript.
func (s *Session) Bytes() []byte { return s.text.Bytes() }

// path returns the path of the file below the client's projects directory.
func (s *Session) path() string {
	switch {
	case s.truth.AgentID == "":
		return path.Join(s.folder, s.ID()+".jsonl")
	case s.is("subagents"):
		return path.Join(s.folder, s.ID(), "subagents", "agent-"+s.truth.AgentID+".jsonl")
	}
	return path.Join(s.folder, "agent-"+s.truth.AgentID+".jsonl")
}

// pass advances the clock by up to d.
func (s *Session) pass(d time.Duration) {
	s.now = s.now.Add(time.Duration(1 + s.rng.Int64N(int64(d)))).Truncate(time.Millisecond)
}

// chance returns true in n of 100 cases.
func (s *Session) chance(n int) bool { return s.rng.IntN(100) < n }

// spread draws a log-normal size.
func spread(rng *rand.Rand, median int, sigma float64) int {
	return int(float64(median) * math.Exp(sigma*rng.NormFloat64()))
}

// record returns a record of a kind, with content of a kind and a text of that
// size.
func (s *Session) record(kind, content string, size int) *record {
	s.pass(400 * time.Millisecond)
	template := pick(s.rng, s.client[kind])
	if content != "" {
		template = strings.Replace(template, "$content", pick(s.rng, s.client[content]), 1)
	}
	var text strings.Builder
	for text.Len() < size {
		text.WriteString(pick(s.rng, s.client["code"]))
	}
	return &record{
		template: template,
		values: map[string]string{
			"text": text.String(),
			"call": newID(s.rng, "toolu_01"),
		},
		uuid:   strconv.Quote(newUUID(s.rng)),
		parent: s.last,
		at:     s.now,
		side:   s.values["side"] == "true",
	}
}

// emit writes a record without figures, if the client has records of that kind.
func (s *Session) emit(kind, content string, size int) {
	if s.client[kind] != nil {
		s.write(s.record(kind, content, size))
	}
}

// line writes a line without counting its content.
func (s *Session) line(text string) {
	s.text.WriteString(text + "\n")
	s.truth.Lines++
}

// repeat writes a record; only its common members count.
func (s *Session) repeat(r *record) {
	s.line(s.render(r))
	t := &s.truth
	if r.has("$version") {
		t.Version = s.values["version"]
		t.Cwd = s.values["cwd"]
	}
	if r.has("$time") {
		if t.Started.IsZero() || r.at.Before(t.Started) {
			t.Started = r.at
		}
		if r.at.After(t.LastActivity) {
			t.LastActivity = r.at
		}
	}
}

func (s *Session) write(r *record) {
	s.repeat(r)
	s.count(r)
	if r.has("$uuid") {
		s.last = r.uuid
		s.kept = append(s.kept, r)
	}
}

func (s *Session) render(r *record) string {
	return os.Expand(r.template, func(name string) string {
		switch name {
		case "uuid":
			return r.uuid
		case "parent":
			return r.parent
		case "time":
			return r.at.Format("2006-01-02T15:04:05.000Z")
		}
		if value, ok := r.values[name]; ok {
			return value
		}
		return s.values[name]
	})
}

func (r *record) has(text string) bool { return strings.Contains(r.template, text) }

// clone returns a record that can be changed.
func (r *record) clone() *record {
	c := *r
	c.values = maps.Clone(r.values)
	return &c
}

// Prompt writes a user's prompt.
func (s *Session) Prompt() {
	s.pass(40 * time.Second)
	s.write(s.prompt())
}

func (s *Session) prompt() *record {
	s.calls = nil
	s.values["prompt"] = strconv.Quote(newUUID(s.rng))
	r := s.record("prompt", "typed", 150)
	r.prompt = true
	return r
}

// Reply writes an API message with a line for each kind of content, by default a
// text.
func (s *Session) Reply(contents ...string) {
	if len(contents) == 0 {
		contents = []string{"text"}
	}
	context := s.context + 150 + s.rng.Int64N(3_000)
	usage := Tokens{Input: 1 + s.rng.Int64N(12), Output: 2 + s.rng.Int64N(900)}
	usage.CacheCreation = min(context-usage.Input, context-s.context+s.rng.Int64N(2_000))
	usage.CacheRead = context - usage.Input - usage.CacheCreation
	message := map[string]string{
		"message":  newID(s.rng, "msg_01"),
		"request":  newID(s.rng, "req_011C"),
		"model":    s.values["model"],
		"input":    strconv.FormatInt(usage.Input, 10),
		"creation": strconv.FormatInt(usage.CacheCreation, 10),
		"read":     strconv.FormatInt(usage.CacheRead, 10),
	}

	for i, content := range contents {
		kind := "reply"
		stop := `"end_turn"`
		line := usage
		if i < len(contents)-1 && s.client["partial"] != nil {
			kind = "partial"
			stop = "null"
			line.Output = 1 + s.rng.Int64N(usage.Output)
		}
		r := s.record(kind, content, spread(s.rng, 300, 1.5))
		maps.Copy(r.values, message)
		r.values["stop"] = stop
		r.values["output"] = strconv.FormatInt(line.Output, 10)
		r.usage = line
		s.write(r)
		s.writeLate()
		if r.has("tool_use") {
			s.calls = append(s.calls, r)
		}
	}
	s.context = context
	s.output = usage.Output
}

// results writes the results of tool calls. The text is in the record twice.
func (s *Session) results() {
	for _, call := range s.calls {
		kind := "result"
		if call.has(`"Task"`) {
			kind = "task"
		}
		size := spread(s.rng, max(20, (cmp.Or(s.lineBytes, 900)-700)/2), 1.55)
		r := s.record(kind, "", min(size, 256<<10))
		r.values["call"] = call.values["call"]
		r.values["caller"] = call.uuid
		r.values["error"] = strconv.FormatBool(s.chance(10))
		s.write(r)
	}
	s.calls = nil
}

// command writes the records of a command of the client.
func (s *Session) command(name string) {
	s.emit("user", name, 0)
	s.emit("user", "output", 0)
}

// Compact writes a compaction. Clients before 1.0.120 write a summary and no boundary,
// some write the summary after the first line of the next reply.
func (s *Session) Compact(trigger transcript.Trigger) {
	s.pass(30 * time.Second)
	s.writeLate()
	if s.client["boundary"] == nil {
		s.summarize()
	} else {
		s.bound(trigger)
	}
	if trigger == transcript.Manual {
		s.calls = nil
		s.command("/compact")
	}
	s.context = min(s.context, 20_000+s.rng.Int64N(30_000))
}

// summarize writes a summary that is the compaction.
func (s *Session) summarize() {
	r := s.record("summary", "", 400)
	r.parent = "null"
	r.compacts = true
	r.trigger = transcript.Unknown
	s.write(r)
}

// bound writes a boundary and its summary.
func (s *Session) bound(trigger transcript.Trigger) {
	r := s.record("boundary", "", 0)
	summary := s.record("summary", "", 400)
	summary.parent = r.uuid
	r.values["trigger"] = trigger.String()
	r.values["size"] = strconv.FormatInt(s.context+s.output, 10)
	r.values["logical"] = r.parent
	r.values["anchor"] = summary.uuid
	r.parent = "null"
	r.compacts = true
	r.trigger = trigger
	before := s.last
	s.write(r)
	if s.is("late-summaries") && s.chance(20) {
		s.last = before
		s.late = summary
	} else {
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

// cut begins a record and does not finish it.
func (s *Session) cut() {
	line := s.render(s.record("user", "words", 99))
	n, _ := s.text.WriteString(line[:1+s.rng.IntN(len(line)-1)])
	s.truth.Tail = int64(n)
}

func newUUID(rng *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", rng.Uint32(), rng.Uint32()&0xffff,
		rng.Uint32()&0xfff, rng.Uint32()&0xfff, rng.Uint64()&0xffff_ffff_ffff)
}

func newID(rng *rand.Rand, prefix string) string {
	return prefix + strconv.FormatUint(rng.Uint64()|1<<63, 36)
}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }
