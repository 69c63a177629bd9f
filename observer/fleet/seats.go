package fleet

import (
	"cmp"
	"strconv"
	"strings"
)

// sit gives the session of a file its seat, once. A subagent's file gives none.
func (f *Fleet) sit(x *file) {
	s := x.of
	if x.sub {
		return
	}
	if s.seat == nil {
		name := s.key
		if !s.uuid {
			name = cmp.Or(x.Session.ID, x.Name)
		}
		s.seat = f.seat(s.key, name)
	}
	if s.seat.Seen.IsZero() && x.Session.Active != 0 {
		s.seat.Seen = x.Session.Active.Time()
		f.changed.seat(s.key)
	}
}

// seat finds or makes the seat of a session, whose label begins like the name.
func (f *Fleet) seat(key, name string) *Seat {
	seat := f.seats[key]
	if seat == nil {
		seat = &Seat{SessionID: key, Agent: key, Label: f.label(name, labelLength)}
		f.seats[key] = seat
		f.changed.seat(key)
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
func (f *Fleet) label(name string, n int) string {
	name = cmp.Or(strings.Map(labelRune, name), "session")
	label := name
	for ; n < len(name); n += 4 {
		if label = name[:n]; !f.given(label) {
			break
		}
	}
	if n >= len(name) {
		label = name
	}
	for i := 2; f.given(label); i++ {
		label = name + "-" + strconv.Itoa(i)
	}
	f.labels[label] = struct{}{}
	return label
}

func (f *Fleet) given(label string) bool {
	_, given := f.labels[label]
	return given
}

func labelRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.', r == '-':
		return r
	}
	return '_'
}
