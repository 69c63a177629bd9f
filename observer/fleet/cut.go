package fleet

import "sm/transcript"

// dropped returns the totals of a transcript as it was, before its client dropped
// the records before a compaction, less those that the remaining records repeat.
// Records that are newer than all of the old ones are no repetition.
func dropped(x *file, c *transcript.Change) transcript.Session {
	old, _ := (&session{own: []*file{x}}).whole()
	in := x.also().Inherited
	t := transcript.Session{
		Peak:         old.Peak,
		Compactions:  old.Compactions,
		Turns:        old.Turns - c.Session.Turns,
		Messages:     old.Messages - in.Messages,
		SideMessages: old.SideMessages - in.SideMessages,
		Tokens:       old.Tokens.Minus(in.Tokens),
		SideTokens:   old.SideTokens.Minus(in.SideTokens),
		Started:      old.Started,
	}

	for i := range c.Entries {
		if e := &c.Entries[i]; e.Kind == transcript.KindTurnStart && e.At > old.Active {
			t.Turns++
		}
	}

	for i, n := range in.Compactions {
		t.Compactions[i] -= n
	}
	for i := range c.Compactions {
		if e := &c.Compactions[i]; e.At <= old.Active {
			t.Compactions[e.Trigger]--
		}
	}

	for i := range c.Messages {
		m := &c.Messages[i]
		if m.At > old.Active {
			continue
		}
		n := &t.Messages
		sum := &t.Tokens
		if m.Side {
			n = &t.SideMessages
			sum = &t.SideTokens
		}
		if m.Was == (transcript.Usage{}) {
			*n--
		}
		*sum = sum.Minus(m.Usage.Minus(m.Was))
	}

	return t
}
