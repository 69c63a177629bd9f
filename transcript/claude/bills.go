package claude

import (
	"cmp"
	"time"

	"sm/transcript"
	"sm/transcript/bills"
)

// KeepBills has the fold make bills.
func (f *Fold) KeepBills() {
	f.bills = &bills.Ledger{}
}

// complete adds to the bill of a compaction what is known of that.
func (f *Fold) complete(i int, b *transcript.Bill) {
	c := &f.Compactions[i]
	b.Key = c.Key
	b.At = c.At
	b.Trigger = c.Trigger
	b.Millis = cmp.Or(c.Millis, b.Millis)
	b.Before = cmp.Or(b.Before, c.PreTokens)
}

// bill hands a record that counts to the ledger; compactions are handed to it
// where they are known to be some.
func (f *Fold) bill(e *transcript.Entry) {
	switch e.Kind {
	case transcript.KindReading:
		f.bills.Reply(e, !f.seenMessage(e))
	case transcript.KindTurnStart:
		if e.Titled == transcript.TitlePrompt {
			f.bills.Prompt(e.Title)
		}
		f.bills.Heard(e)
	case transcript.KindHeard, transcript.KindAside:
		f.bills.Heard(e)
	}
}

// seenMessage reports whether an earlier line was of the same message.
func (f *Fold) seenMessage(e *transcript.Entry) bool {
	_, known := f.costs[cmp.Or(e.Message, e.UUID)]
	return known
}

// longest is how long an automatic compaction may take.
const longest = transcript.Instant(10 * time.Minute)

// sinceLast is how long before an automatic compaction the last record was
// stamped, in milliseconds: the client writes nothing while it compacts. 0 is
// for unknown.
func (f *Fold) sinceLast(ev *transcript.Event) int64 {
	gap := ev.At - f.before
	if ev.Trigger != transcript.Auto || ev.At == 0 || f.before == 0 || gap <= 0 ||
		gap > longest {
		return 0
	}
	return time.Duration(gap).Milliseconds()
}
