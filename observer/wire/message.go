package wire

import (
	"cmp"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/observer/api"
)

// Message converts a message.
func Message(m outbox.Message) api.Message {
	out := api.Message{
		ID:        m.ID,
		Ref:       m.Ref,
		To:        m.To,
		From:      m.From,
		Mode:      m.Mode.String(),
		Text:      m.Text,
		Status:    m.State.String(),
		MadeAt:    m.Made,
		Offers:    m.Offers,
		OfferedAt: timeOrNil(m.Offered),
		EndedAt:   timeOrNil(m.Ended),
	}
	if m.Notice() {
		out.Key = m.Key.String()
		out.Kind = m.Key.Kind.String()
	}
	if m.Offers > 0 {
		out.Via = m.Via.String()
	}
	return out
}

// Mode parses a delivery mode; "" is sequential.
func Mode(name string) (m alerts.Mode, ok bool) {
	for m := range alerts.Urgent + 1 {
		if cmp.Or(name, alerts.Sequential.String()) == m.String() {
			return m, true
		}
	}
	return 0, false
}
