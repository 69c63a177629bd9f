package fleet

import (
	"testing"
	"time"

	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/clients/clientstest"
)

// reading folds a file from its beginning, as news of one that is no longer what
// it was.
func reading(name string, lines ...string) (transcript.Change, *claude.Fold) {
	f := claude.NewFold(name, false)
	var e transcript.Entry
	for _, l := range lines {
		f.Line([]byte(l), len(l)+1, &e)
	}
	messages, compactions := f.Take()
	return transcript.Change{
		Cursor:      transcript.Cursor{Path: "/p/" + name + ".jsonl"},
		Name:        name,
		Whole:       true,
		Session:     f.Session,
		Messages:    append([]transcript.Message(nil), messages...),
		Compactions: compactions,
	}, f
}

func growth(c transcript.Change, f *claude.Fold, line string) transcript.Change {
	var e transcript.Entry
	f.Line([]byte(line), len(line)+1, &e)
	messages, compactions := f.Take()
	c.Whole, c.Session, c.Messages, c.Compactions = false, f.Session, append(
		[]transcript.Message(nil),
		messages...,
	), compactions
	return c
}

const (
	twice   = "aaaaaaaa-1111-4111-8111-111111111111"
	partial = `{"type":"assistant","uuid":"u1","timestamp":"2026-11-20T08:00:01Z","message":{"id":"m","model":"x","usage":{"input_tokens":7,"output_tokens":10}}}`
	whole   = `{"type":"assistant","uuid":"u2","timestamp":"2026-11-20T08:00:02Z","message":{"id":"m","model":"x","usage":{"input_tokens":7,"output_tokens":15}}}`
)

// TestMessageGrowsOnce: a file that is cut back to the first line of a message, or
// emptied, and written again, counts the message's growth once.
func TestMessageGrowsOnce(t *testing.T) {
	created := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	disk := ledger{}
	f := New(Options{Clients: clientstest.Table(), Created: created, Ledger: disk}, Stored{})
	f.Settle(created)
	c, fold := reading(twice, partial)
	f.Apply(c)
	f.Apply(growth(c, fold, whole))
	for range 3 {
		c, fold = reading(twice, partial)
		f.Apply(c)
		d, _ := f.Take()
		for _, m := range d.Messages {
			disk[m.Key] = m.Owner
		}
		f = New(Options{Clients: clientstest.Table(), Created: created, Ledger: disk}, stored(t, f))
		f.Apply(growth(c, fold, whole))
		c, fold = reading(twice)
		f.Apply(c)
		c = growth(c, fold, partial)
		f.Apply(c)
		f.Apply(growth(c, fold, whole))
		f.Apply(transcript.Change{Cursor: c.Cursor, Name: twice, Gone: true})
	}
	if got := f.Counters().Tokens; got.Output != 15 || got.Input != 7 {
		t.Errorf("counted %+v", got)
	}
}

// ledger is the claims of messages on disk.
type ledger map[transcript.Key]transcript.Key

func (l ledger) Owner(message transcript.Key) (transcript.Key, bool) {
	owner, ok := l[message]
	return owner, ok
}
