package rotation

import (
	"slices"
	"strings"

	"sm/alerts"
)

const (
	// heardBytes is how much of a prompt's beginning is compared: of a long text the
	// transcript's reader keeps 992 bytes of it.
	heardBytes = 990
	// maxOverheard is in how many sessions a prompt is kept that was heard there.
	maxOverheard = 4
)

// heard confirms. A human who was quicker than we are has begun the new context in a way
// of his own: that the prompt came all the same is shown by its own text alone.
func (m *Machine) heard(r *Rotation, in Heard) {
	if !r.awaits(in) {
		return
	}
	if r.State == Clearing { // its transcript was read before anybody told of the new client
		m.renew(r, "", in.At)
	}
	if r.Next == "" && in.Session != r.Left {
		r.Next = in.Session
	}
	s := m.agent(r.Agent)
	s.Path, s.Document, s.Channel, s.At = r.Read, r.Document, r.Channel, in.At
	s.Session, s.Judged, s.Futile = r.Next, false, false
	m.do(Executed{*r})
	m.end(r, Confirmed, "", in.At)
}

// awaits says whether what was heard is the rotation's prompt, which may have been given by now.
func (r *Rotation) awaits(in Heard) bool {
	given := r.State.Touched() && (r.State != Clearing || r.Way == WayRestart)
	return given && !in.At.Before(r.Began) && isPrompt(in.Text, r.Prompt)
}

// overhear notes a prompt that was heard in a session of which nobody knows whose it is. It is stored with the news that the
// transcript has been read so far: that is not read again.
func (m *Machine) overhear(in Heard) {
	for _, r := range m.open {
		known := slices.ContainsFunc(r.Overheard, func(o Overheard) bool { return o.Session == in.Session })
		if in.Session == "" || in.Session == r.Left || known || !r.awaits(in) {
			continue
		}
		all := append(slices.Clone(r.Overheard), Overheard{in.Session, in.Text, in.At})
		r.Overheard = all[max(0, len(all)-maxOverheard):]
		m.touch(r)
	}
}

// Recall returns what was heard in the sessions that agents are in, before that was known, once.
func (m *Machine) Recall(sessionOf func(alerts.AgentID) string) (list []Heard) {
	for _, agent := range m.Opens() {
		r := m.open[agent]
		for i, o := range r.Overheard {
			if o.Session == sessionOf(agent) {
				r.Overheard = slices.Concat(r.Overheard[:i], r.Overheard[i+1:])
				m.touch(r)
				list = append(list, Heard{Agent: agent, Session: o.Session, Text: o.Text, At: o.At})
				break
			}
		}
	}
	return list
}

// isPrompt says whether a text that was heard is the prompt, whatever messages either
// carries. The client may have broken its blanks, and shows a long one cut.
func isPrompt(text, prompt string) bool {
	text, _, _ = strings.Cut(text, "\n[sm ")
	prompt, _, _ = strings.Cut(prompt, "\n[sm ")
	text, prompt = strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(prompt), " ")
	if len(prompt) > heardBytes {
		return len(text) >= heardBytes && text[:heardBytes] == prompt[:heardBytes]
	}
	return text == prompt
}
