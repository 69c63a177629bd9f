package claude

import (
	"cmp"

	"sm/transcript"
	"sm/transcript/bills"
)

// KeepBills has the fold make bills.
func (f *Fold) KeepBills() {
	f.bills = &bills.Ledger{}
}

// bill hands a record that counts to the ledger; compactions are handed to it
// where they are known to be some.
func (f *Fold) bill(e *transcript.Entry) {
	switch e.Kind {
	case transcript.KindReading:
		_, known := f.costs[cmp.Or(e.Message, e.UUID)] // by an earlier line of the message
		f.bills.Reply(e, !known)
	case transcript.KindTurnStart:
		if e.Titled == transcript.TitlePrompt {
			f.bills.Prompt(e.Title)
		}
		f.bills.Received(e)
	case transcript.KindContext, transcript.KindAside:
		f.bills.Received(e)
	}
}
