package fleet

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sm/transcript"
)

// world generates what clients write and how it is split when it is read, and keeps what has
// been read.
type world struct {
	*rand.Rand
	wild     bool // files are also deleted, rewritten and copied under the same name
	files    []*testFile
	minute   int
	n        int // names used so far
	registry []Client
	apply    func(transcript.Change)
	// outputs of messages and names of compactions, on lines that were read
	outputs map[string]int
	events  map[string]bool
}

func newWorld(seed uint64, wild bool, apply func(transcript.Change)) *world {
	return &world{
		Rand:    rand.New(rand.NewPCG(seed, 7)),
		wild:    wild,
		apply:   apply,
		outputs: map[string]int{},
		events:  map[string]bool{},
	}
}

func (w *world) name(kind string) string { w.n++; return fmt.Sprintf("%s_%d", kind, w.n) }
func (w *world) id() string              { w.n++; return uuid(w.n) }
func (w *world) now() string             { w.minute++; return after(w.minute) }

func (w *world) anyFile() *testFile { return w.files[w.IntN(len(w.files))] }

// own returns a session's own transcript.
func (w *world) own() *testFile {
	for {
		if p := w.anyFile(); !isSubagent(p.name, p.parent) {
			return p
		}
	}
}

// deliver reads the new part of a test file.
func (w *world) deliver(p *testFile, whole bool) {
	if whole || p.fold == nil {
		w.note(p, p.lines)
		w.apply(p.whole())
	} else {
		w.note(p, p.lines[p.read:])
		w.apply(p.grown())
	}
}

// note records the lines that are read, by the names that they contain for this.
func (w *world) note(p *testFile, lines []string) {
	for _, line := range lines {
		if name := field(line, `"message":{"id":"`); name != "" {
			var output int
			fmt.Sscan(field(line, `"output_tokens":`), &output)
			w.outputs[name] = max(w.outputs[name], output)
		}
		if name := field(line, `"event":"`); name != "" && !isSubagent(p.name, p.parent) {
			w.events[name] = true
		}
	}
}

// field returns the text after key in the line, up to the next mark.
func field(line, key string) string {
	_, rest, _ := strings.Cut(line, key)
	return rest[:max(0, strings.IndexAny(rest, `",}`))]
}

func called(name, line string) string { return fmt.Sprintf(`{"event":%q,`, name) + line[1:] }

func (w *world) begin() {
	path := "/p/-home-dev-web/" + w.id() + ".jsonl"
	if w.IntN(8) == 0 {
		path = "/p/" + w.name("dir") + "/full.jsonl"
	}
	w.files = append(w.files, newTestFile(path, prompt(w.now(), w.name("prompt"))))
}

func (w *world) reply(p *testFile, cut bool) {
	msg := w.name("msg")
	output := 1 + w.IntN(50)
	wrap := func(s string) string { return s }
	if w.IntN(6) == 0 && !isSubagent(p.name, p.parent) {
		wrap = sidechain
	}
	if w.IntN(3) == 0 { // in two lines
		p.add(wrap(reply(w.now(), msg, 30_000, output)))
		if cut {
			w.deliver(p, false)
		}
		output += w.IntN(500)
	}
	p.add(wrap(reply(w.now(), msg, 30_000+w.IntN(200_000), output)))
}

func (w *world) compact(p *testFile, cut bool) {
	name, at, id := w.name("event"), w.now(), w.name("uuid")
	if w.IntN(3) == 0 {
		p.add(called(name, summary(at, id, "", name)))
		return
	}
	p.add(called(name, boundary(at, id, []string{"auto", "manual"}[w.IntN(2)], 100_000+w.n)))
	if cut {
		w.deliver(p, false)
	}
	p.add(summary(at, w.name("uuid"), id, name))
}

// copyOf starts another session with the lines of one, in one of the ways of the clients.
func (w *world) copyOf(p *testFile) {
	c := newTestFile("/p/-home-dev-web/" + w.id() + ".jsonl")
	kind := w.IntN(3)
	for i, line := range p.lines {
		id := field(line, `"uuid":"`)
		switch kind {
		case 1: // by the SDK: new uuids, and from where
			line = origin(
				id,
				strings.Replace(
					line,
					`"uuid":"`+id,
					`"uuid":"`+fmt.Sprintf("%s_%d_%d", id, i, w.n),
					1,
				),
			)
			w.n++
		case 2: // new uuids and nothing else
			line = strings.Replace(
				line,
				`"uuid":"`+id,
				`"uuid":"`+fmt.Sprintf("%s_%d_%d", id, i, w.n),
				1,
			)
			w.n++
		}
		c.add(line)
	}
	w.files = append(w.files, c)
}

func (w *world) subagent(p *testFile) {
	if !isUUID(p.name) {
		return
	}
	s := newTestFile(strings.TrimSuffix(
		p.path,
		".jsonl",
	) + "/subagents/" + "agent-" + w.name("a") + ".jsonl")
	if w.IntN(2) == 0 { // one that repeats the session's messages
		w.deliver(p, false)
		for _, line := range p.lines[max(0, len(p.lines)-3):] {
			if strings.Contains(line, "assistant") && !strings.Contains(line, "isSidechain") {
				s.add(line)
			}
		}
	} else {
		s.add(reply(w.now(), w.name("msg"), 20_000, 9))
	}
	w.files = append(w.files, s)
}

func (w *world) move(p *testFile) {
	if p.fold == nil || p.parent != "" {
		return
	}
	from := p.path
	p.move("/p/" + w.name("dir") + "/" + p.name + ".jsonl")
	w.note(p, p.lines[p.read:])
	c := p.grown()
	c.From = from
	w.apply(c)
}

// rough loses history, or shows the same twice. All has been read before: the growth of a
// known message cannot be derived from a file that is read from the beginning.
func (w *world) rough(p *testFile) {
	w.deliver(p, false)
	switch w.IntN(4) {
	case 0:
		if p.fold != nil {
			w.apply(p.gone())
			p.fold = nil
		}
	case 1:
		n := max(0, len(p.lines)-w.IntN(3))
		for n > 0 && strings.Contains(p.lines[n-1], "compact_boundary") {
			n-- // without its own summary it would take the next one's
		}
		p.lines = p.lines[:n]
		w.deliver(p, true)
	case 2:
		if p.parent == "" && isUUID(p.name) {
			twin := newTestFile(
				"/p/"+w.name("dir")+"/"+p.name+".jsonl",
				slices.Clone(p.lines)...,
			)
			w.files = append(w.files, twin)
			w.deliver(twin, true)
		}
	case 3:
		w.deliver(p, true)
	}
}

// rename makes a process of the registry continue in another session, or start.
func (w *world) rename() {
	c := Client{
		PID:       1 + w.IntN(5),
		ProcStart: "7",
		SessionID: w.own().name,
		Name:      w.name("client"),
	}
	w.registry = slices.DeleteFunc(
		w.registry,
		func(o Client) bool { return o.PID == c.PID || o.SessionID == c.SessionID },
	)
	w.registry = append(w.registry, c)
}

// step makes one random event.
func (w *world) step() {
	if len(w.files) == 0 {
		w.begin()
		w.begin()
	}
	switch p := w.anyFile(); w.IntN(16) {
	case 0:
		w.begin()
	case 1, 2, 3, 4:
		w.reply(p, w.IntN(2) == 0)
	case 5, 6:
		w.compact(p, w.IntN(2) == 0)
	case 7:
		if len(w.files) < 40 {
			p = w.own()
			w.deliver(p, false) // the copied lines were there before
			w.copyOf(p)
		}
	case 8:
		if len(w.files) < 40 {
			w.subagent(w.own())
		}
	case 9:
		w.move(p)
	case 10:
		w.rename()
	case 11:
		if w.wild {
			w.rough(p)
		}
	default:
		w.deliver(p, false)
	}
}

// check compares the counters with what has been read; all of it happened after the state
// directory was created.
func (w *world) check(t *testing.T, f *Fleet) {
	t.Helper()
	var output, events uint64
	for _, n := range w.outputs {
		output += uint64(n)
	}
	c := f.Counters()
	for _, n := range c.Compactions {
		events += n
	}
	if c.Tokens.Output != int64(output) || events != uint64(len(w.events)) {
		t.Errorf(
			"counted %d output tokens and %d compactions, want %d and %d",
			c.Tokens.Output,
			events,
			output,
			len(w.events),
		)
	}
	if w.wild {
		return
	}
	messages := 0
	for _, s := range f.sessions {
		if len(s.own) > 0 {
			v := f.view(row{s, f.currentAgent(s)}, created)
			messages += v.Messages + v.SideMessages
		} else {
			messages += orphans(s)
		}
	}
	if messages != len(w.outputs) {
		t.Errorf("the views show %d messages, want %d", messages, len(w.outputs))
	}
}

// orphans returns the number of messages of subagents without the session's own transcript.
func orphans(s *session) (n int) {
	for _, x := range s.subagents() {
		n += x.Session.Messages - x.Inherited.Messages
	}
	return n
}

// fell reports whether a counter is less than before.
func fell(was, is reflect.Value) bool {
	for i := range is.NumField() {
		a := was.Field(i)
		b := is.Field(i)
		switch b.Kind() {
		case reflect.Struct:
			if fell(a, b) {
				return true
			}
		case reflect.Int64:
			if b.Int() < a.Int() {
				return true
			}
		case reflect.Uint64:
			if b.Uint() < a.Uint() {
				return true
			}
		case reflect.Slice, reflect.Array:
			for j := range b.Len() {
				if b.Index(j).Kind() == reflect.Struct {
					if fell(a.Index(j), b.Index(j)) {
						return true
					}
					continue
				}
				if b.Index(j).Uint() < a.Index(j).Uint() {
					return true
				}
			}
		}
	}
	return false
}

// TestRandom runs one fleet throughout and another that ends repeatedly and starts with its
// stored state.
func TestRandom(t *testing.T) {
	for seed := range uint64(16) {
		live := unsettled()
		disk := newStore()
		mortal := disk.unsettled()
		w := newWorld(seed, seed%2 == 1, func(c transcript.Change) {
			live.Apply(c)
			mortal.Apply(c)
		})
		w.wild = false // lines lost before Settle never existed
		labels := map[string]string{}
		var waiting []Delta
		for i := range 400 {
			before := live.Counters()
			w.step()
			live.Clients(w.registry)
			mortal.Clients(w.registry)
			if i == 60 {
				live.Settle(created)
				mortal.Settle(created)
				w.wild = seed%2 == 1
			}
			d, ok := mortal.Take()
			waiting = append(waiting, d)
			if ok && w.IntN(3) > 0 { // otherwise the transaction failed
				for _, d := range waiting {
					disk.put(d)
					mortal.Stored(d)
				}
				waiting = nil
				if w.IntN(6) == 0 {
					mortal = disk.restored(t)
					mortal.Clients(w.registry)
				}
			}
			if fell(reflect.ValueOf(before), reflect.ValueOf(live.Counters())) {
				t.Errorf("counters fell from %+v to %+v", before, live.Counters())
			}
			if i%20 == 0 {
				diff(t, "views after restarts", live.Views(created), mortal.Views(created))
				diff(t, "counters after restarts", live.Counters(), mortal.Counters())
				diff(t, "cursors after restarts", live.Cursors(), mortal.Cursors())
				checkLabels(t, live, labels)
			}
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, i)
			}
		}
		w.check(t, live)
		if t.Failed() {
			t.Fatal("seed ", seed)
		}
	}
}

// checkLabels checks that a label never changes its owner.
func checkLabels(t *testing.T, f *Fleet, owners map[string]string) {
	t.Helper()
	for v := range f.All(created) {
		key := v.Agent.ID
		if !isUUID(key) || v.Left {
			continue // shown ids are not unique then
		}
		if had, ok := owners[v.Agent.Label]; ok && had != key {
			t.Errorf("label %q of %s was that of %s", v.Agent.Label, key, had)
		}
		owners[v.Agent.Label] = key
	}
}
