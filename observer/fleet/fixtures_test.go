package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/tally"
	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/clients/clientstest"
)

// samples returns the folder of transcripts with known figures: "shapes", "transcripts" or
// "corpus". The corpus is not part of the repository; SM_CORPUS names its folder.
func samples(t *testing.T, name string) string {
	t.Helper()
	if name != "corpus" {
		return filepath.Join("..", "..", "transcript", "claude", "testdata", name)
	}
	dir := os.Getenv("SM_CORPUS")
	if dir == "" {
		t.Skip("SM_CORPUS names no folder of public transcripts")
	}
	return dir
}

// created is the creation time of the state directory in these tests.
var created = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// after and before return the time minutes after and before created.
func after(minutes int) string {
	return created.Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339Nano)
}
func before(minutes int) string { return after(-minutes) }

func uuid(n int) string {
	return fmt.Sprintf(
		"%08x-0000-4000-8000-%012x",
		uint32(n)*2654435761,
		n,
	)
}

// testFile is a transcript and how far it has been read.
type testFile struct {
	path, name, parent string
	lines              []string
	read               int
	fold               *claude.Fold
}

// newTestFile starts a transcript with a path below a projects directory.
func newTestFile(path string, lines ...string) *testFile {
	p := &testFile{lines: lines}
	p.move(path)
	return p
}

// ofSession starts the transcript of the session uuid(n).
func ofSession(n int, lines ...string) *testFile {
	return newTestFile("/p/-home-dev-web/"+uuid(n)+".jsonl", lines...)
}

func (p *testFile) move(path string) {
	p.path, p.name = path, strings.TrimSuffix(filepath.Base(path), ".jsonl")
	if dir := filepath.Dir(path); filepath.Base(dir) == "subagents" {
		p.parent = filepath.Base(filepath.Dir(dir))
	}
}

func (p *testFile) add(lines ...string) *testFile {
	p.lines = append(p.lines, lines...)
	return p
}

// whole reads a file from the beginning, as history; met does so as news; grown reads what
// was appended since.
func (p *testFile) whole() transcript.Change {
	c := p.met()
	c.Entries = nil
	return c
}

func (p *testFile) met() transcript.Change {
	p.read, p.fold = 0, claude.NewFold(p.name, isSubagent(p.name, p.parent))
	c := p.grown()
	c.Whole = true
	return c
}

func (p *testFile) grown() (c transcript.Change) {
	var e transcript.Entry
	for _, line := range p.lines[p.read:] {
		if fresh, _ := p.fold.Line([]byte(line), len(line)+1, &e); fresh {
			c.Entries = append(c.Entries, e) // lines do not change
		}
	}
	p.read = len(p.lines)
	c.Cursor = transcript.Cursor{
		Path:   p.path,
		Offset: p.fold.Session.Bytes,
		Size:   p.fold.Session.Bytes,
	}
	c.Name = p.name
	c.Parent = p.parent
	c.Session = p.fold.Session
	c.Cut = p.fold.Facts().Cut
	c.News = p.fold.Take()
	return c
}

func (p *testFile) gone() transcript.Change {
	return transcript.Change{
		Gone:   true,
		Name:   p.name,
		Parent: p.parent,
		Cursor: transcript.Cursor{Path: p.path},
	}
}

// readTestFile reads a transcript with known figures. A complete last line counts without its
// newline.
func readTestFile(t *testing.T, dir, name string) *testFile {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(samples(t, dir), name))
	noErrors(t, err)
	p := newTestFile("/" + filepath.Join(dir, name))
	for line := range bytes.Lines(b) {
		p.add(strings.TrimSuffix(string(line), "\n"))
	}
	return p
}

// reply returns an assistant's record: message msg with these tokens of context and output.
// Its uuid is its own unless one is given.
func reply(at, msg string, context, output int) string {
	return replyAs(at, msg, fmt.Sprintf("%s-%d-%s", msg, output, at), context, output)
}

func replyAs(at, msg, id string, context, output int) string {
	return fmt.Sprintf(`{"type":"assistant","uuid":%q,"timestamp":%q,"version":"2.1.44","cwd":"/home/dev/web","message":{"id":%q,"model":"claude-opus-4-8","usage":{"input_tokens":2,"cache_creation_input_tokens":100,"cache_read_input_tokens":%d,"output_tokens":%d}}}`,
		id, at, msg, context-102, output)
}

func sidechain(line string) string { return `{"isSidechain":true,` + line[1:] }

// origin makes a record a copy of a fork.
func origin(id, line string) string {
	return fmt.Sprintf(`{"forkedFrom":{"sessionId":"x","messageUuid":%q},`, id) + line[1:]
}

func boundary(at, id, trigger string, pre int) string {
	return fmt.Sprintf(`{"type":"system","subtype":"compact_boundary","uuid":%q,"timestamp":%q,"version":"2.1.44","compactMetadata":{"trigger":%q,"preTokens":%d,"durationMs":17516}}`,
		id, at, trigger, pre)
}

// summary returns the summary of the compaction called text; equal texts have equal digests.
func summary(at, id, parent, text string) string {
	return fmt.Sprintf(`{"type":"user","isCompactSummary":true,"uuid":%q,"parentUuid":%q,"timestamp":%q,"version":"1.0.60","message":{"content":%q}}`,
		id, parent, at, strings.Repeat("This session is being continued: "+text+". ", 8))
}

func prompt(at, id string) string {
	return fmt.Sprintf(
		`{"type":"user","uuid":%q,"timestamp":%q,"version":"2.1.44","cwd":"/home/dev/web","message":{"content":"go on"}}`,
		id,
		at,
	)
}

// store stores deltas as the state file does.
type store struct {
	settled  bool
	files    map[string]File
	records  map[string]SessionRecord
	agents   map[string]Agent
	claims   []Claim
	messages map[transcript.Key]transcript.Key
	counters tally.Counters
}

func newStore() *store {
	return &store{
		files:    map[string]File{},
		records:  map[string]SessionRecord{},
		agents:   map[string]Agent{},
		messages: map[transcript.Key]transcript.Key{},
	}
}

func (s *store) Owner(k transcript.Key) (transcript.Key, bool) {
	owner, ok := s.messages[k]
	return owner, ok
}

func (s *store) put(d Delta) {
	s.settled = d.Settled
	for _, x := range d.Files {
		s.files[x.Cursor.Path] = x
	}
	for _, path := range d.Gone {
		delete(s.files, path)
	}
	for _, rec := range d.Records {
		s.records[rec.SessionID] = rec
	}
	for _, a := range d.Agents {
		s.agents[a.ID] = a
	}
	for _, id := range d.Left {
		delete(s.agents, id)
	}
	s.claims = append(s.claims, d.Claims...)
	for _, c := range d.Messages {
		s.messages[c.Key] = c.Owner
	}
	if d.Counters != nil {
		s.counters = *d.Counters
	}
}

// stored reads the state back from bytes, as from a file.
func (s *store) stored(t *testing.T) (again Stored) {
	t.Helper()
	b, err := json.Marshal(Stored{
		Created:  created,
		Settled:  s.settled,
		Claims:   s.claims,
		Counters: s.counters,
		Files:    slices.Collect(maps.Values(s.files)),
		Records:  slices.Collect(maps.Values(s.records)),
		Agents:   slices.Collect(maps.Values(s.agents)),
	})
	if err == nil {
		err = json.Unmarshal(b, &again)
	}
	noErrors(t, err)
	return again
}

// stored returns what a restart finds once everything has been stored.
func stored(t *testing.T, f *Fleet) Stored {
	t.Helper()
	d := Delta{Settled: true, Counters: &f.counters}
	for _, x := range f.files {
		d.Files = append(d.Files, x.File)
	}
	for _, x := range f.sessions {
		if x.record != nil {
			d.Records = append(d.Records, *x.record)
		}
	}
	for _, a := range f.agents {
		d.Agents = append(d.Agents, a.Agent)
	}
	for k, owner := range f.claims {
		d.Claims = append(d.Claims, Claim{Key: k, Owner: owner})
	}
	disk := newStore()
	disk.put(d)
	return disk.stored(t)
}

// unsettled returns a fleet that has not read its history.
func unsettled() *Fleet {
	return New(Options{Clients: clientstest.Table()}, Stored{Created: created})
}

// unsettled returns a fleet that keeps its messages in s.
func (s *store) unsettled() *Fleet {
	return New(Options{Clients: clientstest.Table(), Ledger: s}, Stored{Created: created})
}

// restored returns the fleet of a restart.
func (s *store) restored(t *testing.T) *Fleet {
	return New(Options{Clients: clientstest.Table(), Ledger: s}, s.stored(t))
}

// settled returns a fleet with these files as history.
func settled(history ...*testFile) *Fleet {
	f := unsettled()
	for _, p := range history {
		f.Apply(p.whole())
	}
	f.Settle(created)
	return f
}

// figures are the fields of a View about copies.
type figures struct {
	Compactions, Inherited transcript.TriggerCounts
	Messages               int
	Output                 int64
	SubagentFiles          int
	SubagentMessages       int
}

// figuresOf returns figures by label.
func figuresOf(f *Fleet) map[string]figures {
	m := map[string]figures{}
	for v := range f.All(created) {
		m[v.Agent.Label] = figures{
			v.Compactions,
			v.Inherited,
			v.Messages,
			v.Tokens.Output,
			v.SubagentFiles,
			v.SideMessages,
		}
	}
	return m
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if reflect.DeepEqual(want, got) { // much faster, and nearly always so
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// orders yields all orders of n things; for large n the first ones and some of the others.
func orders(n int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		if n <= 6 {
			permute(order, 0, yield)
			return
		}
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		for range 8 {
			if !yield(order) {
				return
			}
			rng.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
	}
}

func permute(order []int, from int, yield func([]int) bool) bool {
	if from == len(order) {
		return yield(order)
	}
	for i := from; i < len(order); i++ {
		order[from], order[i] = order[i], order[from]
		more := permute(order, from+1, yield)
		order[from], order[i] = order[i], order[from]
		if !more {
			return false
		}
	}
	return true
}

func noErrors(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
