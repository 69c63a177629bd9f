package rotation

import (
	"slices"
	"strings"
)

const (
	// comparedBytes is the length of the beginning of a long prompt that is
	// compared: the reader of transcripts keeps 992 bytes.
	comparedBytes = 990
	// maxUnassigned limits the number of unassigned sessions with a prompt.
	maxUnassigned = 4
)

// apply confirms a rotation. A person may have begun the new context first, so
// only the text of the prompt proves that the prompt arrived.
func (in Prompted) apply(m *Machine) {
	r := m.open[in.Agent]
	switch {
	case r == nil:
		m.keepUnassigned(in)
		return
	case !r.awaits(in):
		return
	}
	if r.State == Clearing { // the transcript was read before the report of the new client
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

// awaits reports whether a prompt is the prompt of the rotation, and may have
// been given by now.
func (r *Rotation) awaits(in Prompted) bool {
	given := r.State.Touched() && (r.State != Clearing || r.Way == WayRestart)
	return given && !in.At.Before(r.Began) && isPrompt(in.Text, r.Prompt)
}

// keepUnassigned stores a prompt in a session whose agent is unknown. It is
// stored together with the position in the transcript, because the transcript
// is not read again.
func (m *Machine) keepUnassigned(in Prompted) {
	for _, r := range m.open {
		known := slices.ContainsFunc(
			r.Unassigned[:],
			func(o Prompted) bool { return o.Session == in.Session },
		)
		if in.Session == "" || in.Session == r.Left || known || !r.awaits(in) {
			continue
		}
		// The prompt takes a free place, as in the shorter lists of older
		// versions, or the place of the oldest.
		i := max(0, slices.Index(r.Unassigned[:], Prompted{}))
		copy(r.Unassigned[i:], r.Unassigned[i+1:])
		r.Unassigned[maxUnassigned-1] = in
	}
}

// Recall returns, once, the unassigned prompts in the agents' present sessions.
// sessionOf returns the session of an agent.
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

// isPrompt reports whether text is the prompt, apart from messages in either.
// The client may have changed the blanks, and cuts a long prompt.
func isPrompt(text, prompt string) bool {
	text = firstLine(text)
	prompt = firstLine(prompt)
	if len(prompt) > comparedBytes {
		return len(text) >= comparedBytes && text[:comparedBytes] == prompt[:comparedBytes]
	}
	return text == prompt
}

// firstLine returns a prompt without its messages, with single blanks.
func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n[sm ")
	return strings.Join(strings.Fields(text), " ")
}
