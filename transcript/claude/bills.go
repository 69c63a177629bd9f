package claude

import (
	"cmp"

	"sm/transcript"
	"sm/transcript/bills"
)

// KeepBills makes the fold produce bills.
func (f *Fold) KeepBills() {
	f.bills = &bills.Ledger{}
}

// bill passes a record that counts to the ledger. Compactions are passed on
// where they are recognized.
func (f *Fold) bill(e *transcript.Entry) {
	switch e.Kind {
	case transcript.KindReading:
		_, known := f.costs[cmp.Or(e.Message, e.UUID)] // from an earlier line of the message
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
