package rotation

import (
	"slices"
	"strings"
)

const (
	// comparedBytes is how much of a long prompt's beginning is compared: the transcript's
	// reader keeps 992 bytes of it.
	comparedBytes = 990
	// maxUnassigned limits the sessions in which a prompt is remembered.
	maxUnassigned = 4
)

// apply confirms a rotation. If a human was quicker and began the new context, only the
// prompt's own text proves that it arrived.
func (in Prompted) apply(m *Machine) {
	r := m.open[in.Agent]
	switch {
	case r == nil:
		m.keepUnassigned(in)
		return
	case !r.awaits(in):
		return
	}
	if r.State == Clearing { // the transcript was read before the new client was reported
		m.renew(r, "", in.At)
	}
	if r.Next == "" && in.Session != r.Left {
		r.Next = in.Session
	}
	s := m.agent(r.Agent)
	s.Path = r.Read
	s.At = in.At
	s.Session = r.Next
	s.Judged = false
	s.Futile = false
	m.do(Executed{*r})
	m.end(r, Confirmed, "", in.At)
}

// awaits reports whether a prompt is the rotation's, which may have been given by now.
func (r *Rotation) awaits(in Prompted) bool {
	given := r.State.Touched() && (r.State != Clearing || r.Way == WayRestart)
	return given && !in.At.Before(r.Began) && isPrompt(in.Text, r.Prompt)
}

// keepUnassigned remembers a prompt in a session whose agent is not known yet. It is stored
// together with the position in the transcript, which is not read again.
func (m *Machine) keepUnassigned(in Prompted) {
	for _, r := range m.open {
		known := slices.ContainsFunc(
			r.Unassigned[:],
			func(o Prompted) bool { return o.Session == in.Session },
		)
		if in.Session == "" || in.Session == r.Left || known || !r.awaits(in) {
			continue
		}
		// It takes a place that is free, as in the shorter lists of older versions, or the oldest.
		i := max(0, slices.Index(r.Unassigned[:], Prompted{}))
		copy(r.Unassigned[i:], r.Unassigned[i+1:])
		r.Unassigned[maxUnassigned-1] = in
	}
}

// Recall returns, once, the prompts that were seen in the agents' present sessions before
// the sessions' agents were known.
func (m *Machine) Recall(sessionOf func(string) string) (list []Prompted) {
	for _, agent := range m.Opens() {
		session := sessionOf(agent)
		for i := range m.open[agent].Unassigned {
			o := &m.open[agent].Unassigned[i]
			if session != "" && o.Session == session {
				o.Agent = agent
				list = append(list, *o)
				*o = Prompted{}
			}
		}
	}
	return list
}

// isPrompt reports whether a text is the prompt, apart from messages that either carries.
// The client may have changed its blanks, and cuts a long one.
func isPrompt(text, prompt string) bool {
	text = firstLine(text)
	prompt = firstLine(prompt)
	if len(prompt) > comparedBytes {
		return len(text) >= comparedBytes && text[:comparedBytes] == prompt[:comparedBytes]
	}
	return text == prompt
}

// firstLine is a prompt without its messages, with single blanks.
func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n[sm ")
	return strings.Join(strings.Fields(text), " ")
}
