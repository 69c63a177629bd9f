package bills

import (
	"cmp"
	"slices"

	"sm/transcript"
	"sm/transcript/wording"
)

const (
	// maxKeys limits the keys of known work, maxPrompts the sketches of
	// prompts: at the limit the older half is dropped.
	maxKeys, maxPrompts = 2048, 64
	// maxCalls limits the calls of a reply that count, maxWork the work of a
	// session's opening.
	maxCalls, maxWork = 64, 128
)

// Ledger makes the bills of one transcript. The zero value is ready.
type Ledger struct {
	done     recent // by calls
	prompts  recent // by sketches
	accounts []*account
	last     reply
	begun    bool // there was a reply
	taken    bool // Take has been called
}

// account is the bill of a boundary. The newest one grows; the others wait for
// Take.
type account struct {
	bill    transcript.Bill
	ordinal int     // index of a compaction in its file
	opening bool    // the boundary begins the file
	calls   int     // number of different calls before the boundary
	prompts int     // number of prompts before the boundary
	grown   []int64 // growth of the context in tokens after each reply
	changed bool    // since the last Take
}

// reply is the newest reply, with its calls until their results are known.
type reply struct {
	context, output int64
	calls           []call
}

// call is one tool call of a reply.
type call struct {
	id, key transcript.Key
	tool    transcript.Tool
	name    string
	again   bool
	size    int64
}

// Reply adds a line of a reply, a reading. first marks the first line of its
// message.
func (l *Ledger) Reply(e *transcript.Entry, first bool) {
	if first {
		l.settle(e.Context - l.last.context - l.last.output)
		l.last.context = e.Context
		l.last.output = e.Usage.Output
		l.begun = true
		if a := l.current(); a != nil {
			a.reply(e.Context)
		}
	}
	l.last.output = max(l.last.output, e.Usage.Output)
	for i := range e.Calls {
		l.Called(e.CWD, &e.Calls[i])
	}
}

// current returns the account that grows, nil for none.
func (l *Ledger) current() *account {
	if n := len(l.accounts); n > 0 && !l.accounts[n-1].bill.Done {
		return l.accounts[n-1]
	}
	return nil
}

// reply counts a reply after the boundary. The reply after the last counted one
// ends the bill, since it shows the size of that one's results.
func (a *account) reply(context int64) {
	a.changed = true
	if a.bill.After == 0 {
		a.bill.After = context
	}
	if a.bill.Replies == transcript.BillReplies {
		a.end()
		return
	}
	a.bill.Replies++
	a.grown = append(a.grown, context-a.bill.After)
}

func (a *account) end() {
	a.bill.Done = true
	a.changed = true
}

// regrown returns the number of replies after which a context had grown by
// tokens, 0 for never.
func regrown(grown []int64, tokens int64) int {
	if tokens == 0 {
		return 0
	}
	return 1 + slices.IndexFunc(grown, func(n int64) bool { return n >= tokens })
}

// Called adds a call of the newest reply, by a client in that folder. The call
// has the size of its result if the client writes both at once.
func (l *Ledger) Called(folder []byte, c *transcript.Call) {
	if c.Tool == transcript.ToolOther {
		return
	}
	a := l.current()
	key := transcript.Key(0)
	again := false
	if len(c.On) > 0 {
		key = transcript.Join(c.Target(), transcript.Key(c.Tool)) // differs by tool
		again = a != nil && slices.Contains(l.done.first(a.calls), key)
		if !again && !slices.Contains(l.done.keys, key) {
			l.done.add(key, maxKeys)
		}
	}
	if a == nil {
		return
	}
	a.changed = true
	if c.Tool == transcript.ToolRead {
		a.bill.Reads++
	}
	if again {
		repeat(&a.bill, c.Tool)
	}
	if key == 0 || len(l.last.calls) == maxCalls {
		return
	}
	asked := call{
		id:    transcript.KeyOf(c.ID),
		key:   key,
		tool:  c.Tool,
		again: again,
		size:  c.Size,
	}
	if c.Tool == transcript.ToolRead && (again || a.opening) {
		asked.name = nameOf(c.On, folder)
	}
	l.last.calls = append(l.last.calls, asked)
}

// repeat counts a call that repeats earlier work.
func repeat(b *transcript.Bill, t transcript.Tool) {
	switch t {
	case transcript.ToolRead:
		b.Rereads++
	case transcript.ToolEdit:
		b.Reedits++
	case transcript.ToolRun:
		b.Reruns++
	}
}

// Results adds the results in a record to the calls of the newest reply.
func (l *Ledger) Results(e *transcript.Entry) {
	for i := range e.Calls {
		id := transcript.KeyOf(e.Calls[i].ID)
		for j := range l.last.calls {
			if c := &l.last.calls[j]; e.Calls[i].Result && c.id == id {
				c.size = e.Calls[i].Size
			}
		}
	}
}

// settle distributes the growth of the context over the calls of the newest
// reply, in proportion to the sizes of their results.
func (l *Ledger) settle(grown int64) {
	grown = max(0, grown)
	total := int64(0)
	for i := range l.last.calls {
		total += l.last.calls[i].size
	}
	for i := range l.last.calls {
		c := &l.last.calls[i]
		tokens := grown / int64(len(l.last.calls))
		if total > 0 {
			tokens = int64(float64(grown) * float64(c.size) / float64(total))
		}
		if a := l.current(); a != nil {
			a.brought(c, tokens)
		}
	}
	l.last.calls = l.last.calls[:0]
}

// brought adds the result of a call.
func (a *account) brought(c *call, tokens int64) {
	w := transcript.Work{
		Tool:   c.tool,
		Key:    c.key,
		Name:   c.name,
		Bytes:  c.size,
		Tokens: tokens,
	}
	switch {
	case c.again && c.tool == transcript.ToolRead:
		a.changed = true
		reread(&a.bill, w)
	case !c.again && a.opening && len(a.bill.Work) < maxWork:
		a.changed = true
		a.bill.Work = append(a.bill.Work, w)
	}
}

// reread adds the result of reading a file again.
func reread(b *transcript.Bill, w transcript.Work) {
	b.Bytes += w.Bytes
	b.Tokens += w.Tokens
	i := slices.IndexFunc(b.Files, func(f transcript.Reread) bool { return f.Key == w.Key })
	if i < 0 {
		if len(b.Files) == transcript.BillFiles {
			return
		}
		i = len(b.Files)
		b.Files = append(b.Files, transcript.Reread{Key: w.Key, Name: w.Name})
	}
	b.Files[i].Reads++
	b.Files[i].Tokens += w.Tokens
}

// Prompt adds the text of a user's prompt.
func (l *Ledger) Prompt(text []byte) {
	s := Sketch(text)
	if s == 0 {
		return
	}
	if a := l.current(); a != nil && a.bill.Replies < transcript.BillReplies {
		if slices.ContainsFunc(
			l.prompts.first(a.prompts),
			func(k transcript.Key) bool { return Alike(k, s) },
		) {
			a.bill.Restated++
			a.changed = true
		} else if a.opening && len(a.bill.Work) < maxWork {
			a.bill.Work = append(a.bill.Work, transcript.Work{Key: s})
			a.changed = true
		}
	}
	l.prompts.add(s, maxPrompts)
}

// Received adds a text that reached the agent besides prompts, or a prompt of
// sm itself. After a handoff a session opens with a document, or with the
// prompt to continue from one; it may also open with a command to clear.
func (l *Ledger) Received(e *transcript.Entry) {
	kind := transcript.BilledHandoff
	switch {
	case e.Kind == transcript.KindAside && e.Text == "/clear":
		kind = transcript.BilledClear
	case e.Kind == transcript.KindTurnStart &&
		wording.MayResume(e.Text), e.Kind == transcript.KindContext &&
		wording.IsDocument(e.Text):
	default:
		return
	}
	if n := len(l.accounts); n > 0 {
		b := &l.accounts[n-1].bill
		if b.Replies == 0 && b.Kind != transcript.BilledCompaction {
			b.Kind = min(kind, b.Kind) // a handoff may clear first
			return
		}
	}
	if l.begun && kind == transcript.BilledHandoff {
		return // the document was read again, after a compaction or a question
	}
	l.open(transcript.Bill{
		Kind: kind,
		Key:  cmp.Or(e.Origin, e.UUID),
		At:   e.At,
	}).opening = !l.begun
}

// Compacted opens the bill of a compaction, given its index among those of its
// file. Take adds the other data of its records.
func (l *Ledger) Compacted(ordinal int, b transcript.Bill) {
	l.open(b).ordinal = ordinal
}

// open begins a bill and ends those before, whose contexts no longer grow.
func (l *Ledger) open(b transcript.Bill) *account {
	l.settle(0)
	b.Before = cmp.Or(b.Before, l.last.context)
	l.last.context = 0
	l.last.output = 0
	if a := l.current(); a != nil {
		a.end()
	}
	a := &account{
		bill:    b,
		calls:   l.done.total,
		prompts: l.prompts.total,
		changed: true,
	}
	l.accounts = append(l.accounts, a)
	return a
}

// Take returns the bills that are new or have changed since the last call, and
// the work done since. compactions are those of the file, whose data complete
// the bills.
func (l *Ledger) Take(compactions []transcript.Event) ([]transcript.Bill, transcript.Worked) {
	var list []transcript.Bill
	for _, a := range l.accounts {
		if !a.changed {
			continue
		}
		a.changed = false
		b := a.bill
		b.Files = slices.Clone(b.Files)
		b.Work = slices.Clone(b.Work)
		if b.Kind == transcript.BilledCompaction {
			c := &compactions[a.ordinal]
			b.Key = c.Key
			b.At = c.At
			b.Trigger = c.Trigger
			b.Millis = cmp.Or(c.Millis, b.Millis)
			b.Before = cmp.Or(b.Before, c.PreTokens)
		}
		if b.Regrown == 0 {
			b.Regrown = regrown(a.grown, b.Tokens)
		}
		if a.opening {
			b.Grown = slices.Clone(a.grown)
		}
		list = append(list, b)
	}
	l.accounts = slices.DeleteFunc(l.accounts, func(a *account) bool { return a.bill.Done })
	var w transcript.Worked
	w.Keys = l.done.take()
	w.Prompts = l.prompts.take()
	w.All = !l.taken
	l.taken = true
	return list, w
}
