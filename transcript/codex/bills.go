package codex

import (
	"bytes"
	"cmp"
	"slices"

	"sm/transcript"
	"sm/transcript/bills"
	"sm/transcript/wording"
)

// KeepBills makes the fold produce bills. No record shows that a session began
// with /new or /clear, so there are no bills of clears.
func (f *Fold) KeepBills() {
	f.bills = &billing{}
}

// billing passes the records of a fold to a ledger.
type billing struct {
	ledger bills.Ledger
	calls  []asked
	fed    transcript.Instant // time of the last input of the model
}

// asked is a tool call that waits for its result or for the reply that it
// belongs to. Clients write the reply before the call, between call and result,
// or after the result.
type asked struct {
	id       transcript.Key
	calls    []transcript.Call
	replied  bool
	answered bool
}

// maxAsked limits the waiting calls.
const maxAsked = 64

// take processes a record that the fold has added.
func (b *billing) take(f *Fold, r *record, e *transcript.Entry, fresh bool) {
	switch r.kind {
	case called:
		if calls := callsOf(r, f.Session.CWD); len(calls) > 0 && len(b.calls) < maxAsked {
			b.calls = append(b.calls, asked{id: transcript.KeyOf(r.call), calls: calls})
		}
	case answered:
		b.answered(f, r)
	case ran, patched:
		// An item of a script of the model, as opposed to a tool call, which
		// has its own records.
		if bytes.HasPrefix(r.call, []byte("exec-")) {
			b.done(f, callsOf(r, f.Session.CWD), r.output)
		}
	case compacted:
		if fresh && !f.copies.now {
			bill := transcript.Bill{Millis: bills.Millis(b.fed, r.at), Before: e.PreTokens}
			b.ledger.Compacted(len(f.Compactions)-1, bill)
		}
	case prompt, hookText:
		b.prompt(f, r, e)
	case spent, counted:
		if fresh && e.Message != 0 && !f.copies.now {
			b.replied(f, e)
		}
	}
	if r.kind == answered || r.kind == prompt || r.kind == started {
		b.fed = r.at
	}
}

// prompt processes a text of the user or of a hook.
func (b *billing) prompt(f *Fold, r *record, e *transcript.Entry) {
	if !wording.IsOurs(r.text) {
		b.ledger.Prompt(r.text)
		return
	}
	opening := *e
	opening.UUID = cmp.Or(r.turnKey(f.key, 1), transcript.Join(f.key, transcript.KeyOf(r.text)))
	if wording.MayResume(e.Text) {
		opening.Kind = transcript.KindTurnStart
	}
	b.ledger.Received(&opening)
}

// replied counts a reply, and passes on its calls that have their results.
func (b *billing) replied(f *Fold, e *transcript.Entry) {
	b.ledger.Reply(e, true)
	waiting := b.calls[:0]
	for _, a := range b.calls {
		if a.replied = true; a.answered {
			b.done(f, a.calls, 0)
		} else {
			waiting = append(waiting, a)
		}
	}
	b.calls = waiting
}

// answered processes the result of a call.
func (b *billing) answered(f *Fold, r *record) {
	id := transcript.KeyOf(r.call)
	i := slices.IndexFunc(b.calls, func(a asked) bool { return a.id == id })
	if i < 0 {
		return
	}
	if a := &b.calls[i]; a.replied {
		b.done(f, a.calls, r.output)
		b.calls = slices.Delete(b.calls, i, i+1)
	} else {
		a.answered = true
		a.calls[0].Size = r.output
	}
}

// done passes the actions of one call to the ledger. size is that of its
// result.
func (b *billing) done(f *Fold, calls []transcript.Call, size int64) {
	for i := range calls {
		if i == 0 && size > 0 {
			calls[0].Size = size
		}
		b.ledger.Called([]byte(f.Session.CWD), &calls[i])
	}
}
