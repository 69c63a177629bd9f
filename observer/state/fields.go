package state

import (
	"time"

	"sm/observer/fleet"
	"sm/observer/tally"
	"sm/transcript"
)

// The fields of what is stored. Add new ones at the end of their function: what was
// stored before has them at zero. Never move or remove one.

// head is what is kept of the state itself.
type head struct {
	created time.Time
	settled bool
}

func (c *coder) head(h *head) {
	c.moment(&h.created)
	c.flag(&h.settled)
}

func (c *coder) file(f *fleet.File) {
	c.group(func() { c.cursor(&f.Cursor) })
	c.textOf(&f.Name, f.Cursor.Path)
	c.word(&f.Parent)
	c.group(func() { c.session(&f.Session, f.Name) })
	c.group(func() { c.inherited(&f.Inherited) })
	c.text(&f.Key)
	f.Copies = list(c, f.Copies, fixed[transcript.Key])
	f.Known = list(c, f.Known, fixed[transcript.Key])
	c.group(func() {
		c.text(&f.Title.Text)
		number(c, &f.Title.Source)
	})
	f.Undecided = list(c, f.Undecided, func(c *coder, u *transcript.Compaction) {
		c.group(func() { c.compaction(u) })
	})
	f.Earlier = list(c, f.Earlier, func(c *coder, s *transcript.Session) {
		c.group(func() { c.session(s, "") })
	})
}

func (c *coder) compaction(u *transcript.Compaction) {
	fixed(c, &u.Key)
	fixed(c, &u.Was)
	fixed(c, &u.Own)
	fixed(c, &u.Stamp)
	fixed(c, &u.Digest)
	fixed(c, &u.At)
	number(c, &u.Trigger)
	number(c, &u.PreTokens)
	number(c, &u.Millis)
	c.flag(&u.Undecided)
	c.flag(&u.Boundary)
	c.flag(&u.Copied)
}

func (c *coder) cursor(p *transcript.Cursor) {
	c.text(&p.Path)
	number(c, &p.Dev)
	number(c, &p.Ino)
	number(c, &p.Offset)
	number(c, &p.Size)
	fixed(c, &p.Modified)
	fixed(c, &p.Head)
	fixed(c, &p.Tail)
}

func (c *coder) session(s *transcript.Session, name string) {
	c.group(func() { c.reading(&s.Reading) })
	c.flag(&s.Blank)
	number(c, &s.Peak)
	numbers(c, s.Compactions[:])
	number(c, &s.Turns)
	c.flag(&s.InTurn)
	number(c, &s.Messages)
	number(c, &s.SideMessages)
	c.group(func() { c.usage(&s.Tokens) })
	c.group(func() { c.usage(&s.SideTokens) })
	c.word(&s.Model)
	c.word(&s.Version)
	c.word(&s.CWD)
	c.textOf(&s.ID, name)
	fixed(c, &s.Started)
	fixed(c, &s.Active)
	number(c, &s.Bytes)
	number(c, &s.Lines)
	number(c, &s.Bad)
	p := s.Also()
	c.word(&p.Client)
	c.word(&p.Parent)
	number(c, &p.Window)
	number(c, &p.Estimate)
	s.SetParticulars(p)
}

func (c *coder) reading(r *transcript.Reading) {
	fixed(c, &r.At)
	number(c, &r.Tokens)
	number(c, &r.Cleared)
}

func (c *coder) usage(u *transcript.Usage) {
	number(c, &u.Input)
	number(c, &u.CacheCreation)
	number(c, &u.CacheRead)
	number(c, &u.Output)
}

func (c *coder) inherited(h *fleet.Inherited) {
	number(c, &h.Messages)
	number(c, &h.SideMessages)
	c.group(func() { c.usage(&h.Tokens) })
	c.group(func() { c.usage(&h.SideTokens) })
	numbers(c, h.Compactions[:])
}

func (c *coder) sessionRecord(s *fleet.SessionRecord) {
	c.text(&s.SessionID)
	c.textOf(&s.Agent, s.SessionID)
	c.textOf(&s.Label, s.SessionID)
	c.moment(&s.Seen)
	numbers(c, s.Counted[:])
	number(c, &s.PID)
	c.text(&s.ProcStart)
	c.totals(s)
}

func (c *coder) bill(b *transcript.Bill) {
	number(c, &b.Kind)
	fixed(c, &b.Key)
	fixed(c, &b.At)
	number(c, &b.Trigger)
	number(c, &b.Before)
	number(c, &b.After)
	number(c, &b.Millis)
	number(c, &b.Replies)
	number(c, &b.Reads)
	number(c, &b.Rereads)
	number(c, &b.Bytes)
	number(c, &b.Tokens)
	number(c, &b.Reruns)
	number(c, &b.Reedits)
	number(c, &b.Restated)
	number(c, &b.Regrown)
	c.flag(&b.Done)
	b.Files = list(c, b.Files, func(c *coder, f *transcript.Reread) {
		c.group(func() {
			fixed(c, &f.Key)
			c.text(&f.Name)
			number(c, &f.Reads)
			number(c, &f.Tokens)
		})
	})
	b.Work = list(c, b.Work, func(c *coder, w *transcript.Work) {
		c.group(func() {
			number(c, &w.Tool)
			fixed(c, &w.Key)
			c.text(&w.Name)
			number(c, &w.Bytes)
			number(c, &w.Tokens)
		})
	})
	b.Grown = list(c, b.Grown, number[int64])
}

func (c *coder) counters(f *tally.Counters) {
	numbers(c, f.Compactions[:])
	c.group(func() { c.tokens(&f.Tokens) })
	c.group(func() {
		number(c, &f.Lines.Good)
		number(c, &f.Lines.Bad)
	})
	number(c, &f.Bytes)
	c.group(func() { c.histogram(&f.PreTokens) })
	c.group(func() { c.histogram(&f.Duration) })
	c.group(func() { c.cost(&f.Cost) })
	c.group(func() {
		fixed(c, &f.Today.Begins)
		fixed(c, &f.Today.Ends)
		number(c, &f.Today.Tokens)
		c.cost(&f.Today.Cost)
	})
	for i := range f.Bills {
		c.group(func() {
			number(c, &f.Bills[i].Reads)
			number(c, &f.Bills[i].Rereads)
			number(c, &f.Bills[i].Tokens)
		})
	}
	f.Dear = list(c, f.Dear, number[int64])
	f.Others = list(c, f.Others, func(c *coder, p *tally.Part) {
		c.group(func() {
			c.text(&p.Client)
			numbers(c, p.Compactions[:])
			c.tokens(&p.Tokens)
			c.group(func() { c.histogram(&p.PreTokens) })
			c.group(func() { c.histogram(&p.Duration) })
			for i := range p.Limits {
				fixed(c, &p.Limits[i].At)
				fixed(c, &p.Limits[i].Resets)
				c.real(&p.Limits[i].Used)
			}
			numbers(c, p.Attempts[:])
			number(c, &p.Storms)
		})
	})
}

func (c *coder) tokens(t *tally.Tokens) {
	number(c, &t.Input)
	number(c, &t.CacheCreation)
	number(c, &t.CacheRead)
	number(c, &t.Output)
}

// totals are absent where no client has reported any, and no boundary has cost anything.
func (c *coder) totals(s *fleet.SessionRecord) {
	var t fleet.Totals
	if s.Totals != nil {
		t = *s.Totals
	}
	t.List = list(c, t.List, func(c *coder, t *fleet.Total) {
		c.group(func() {
			c.real(&t.USD)
			number(c, &t.PID)
			c.text(&t.Start)
		})
	})
	t.Bills.List = list(c, t.Bills.List, func(c *coder, b *transcript.Bill) {
		own := *b // the loop reads the list while it is written down
		c.group(func() { c.bill(&own) })
		if c.decode {
			*b = own
		}
	})
	number(c, &t.Bills.Dear)
	if c.decode && len(t.List)+len(t.Bills.List)+t.Bills.Dear > 0 {
		s.Totals = &t
	}
}

func (c *coder) cost(v *tally.Cost) {
	c.real(&v.USD)
	c.flag(&v.Known)
}

func (c *coder) histogram(h *tally.Histogram) {
	h.Counts = list(c, h.Counts, number[uint64])
	c.real(&h.Sum)
}
