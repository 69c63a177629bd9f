package fleet

import (
	"cmp"
	"strconv"
	"strings"
)

// sit gives the session of a file its seat, once. A subagent's file gives none.
func (c *catalog) sit(x *file) {
	s := x.of
	if x.sub {
		return
	}
	if s.seat == nil {
		name := s.key
		if !s.uuid {
			name = cmp.Or(x.Session.ID, x.Name)
		}
		s.seat = c.seat(s.key, name)
	}
	if s.seat.Seen.IsZero() && x.Session.Active != 0 {
		s.seat.Seen = x.Session.Active.Time()
		c.changed.seat(s.key)
	}
}

// seat finds or makes the seat of a session, whose label begins like the name.
func (c *catalog) seat(key, name string) *Seat {
	seat := c.seats[key]
	if seat == nil {
		seat = &Seat{SessionID: key, Agent: key, Label: c.label(name, labelLength)}
		c.seats[key] = seat
		c.changed.seat(key)
	}
	return seat
}

// shrink lets agent and label share the memory of the id, as they do at first.
func (s *Seat) shrink() {
	if s.Agent == s.SessionID {
		s.Agent = s.SessionID
	}
	if strings.HasPrefix(s.SessionID, s.Label) {
		s.Label = s.SessionID[:len(s.Label)]
	}
}

// label finds a name for metrics that was never given before: the first n characters,
// more of them when others begin alike, else with a number.
func (c *catalog) label(name string, n int) string {
	name = cmp.Or(strings.Map(labelRune, name), "session")
	label := name
	for ; n < len(name); n += 4 {
		if label = name[:n]; !c.given(label) {
			break
		}
	}
	if n >= len(name) {
		label = name
	}
	for i := 2; c.given(label); i++ {
		label = name + "-" + strconv.Itoa(i)
	}
	c.labels[label] = struct{}{}
	return label
}

func (c *catalog) given(label string) bool {
	_, given := c.labels[label]
	return given
}

func labelRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.', r == '-':
		return r
	}
	return '_'
}
