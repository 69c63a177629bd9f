package wire

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"sm/alerts"
	"sm/observer/api"
	"sm/transcript"
	"sm/transcript/wording"
)

// Reminder converts a reminder.
func Reminder(r alerts.Reminder) api.Reminder {
	out := api.Reminder{
		ID:     r.ID,
		Agent:  r.Agent,
		From:   r.From,
		Text:   r.Text,
		MadeAt: r.Made.Time(),
		Soft:   time.Duration(r.Soft).Seconds(),
		Hard:   time.Duration(r.Hard).Seconds(),
	}
	if r.Periodic() {
		out.ResetAt = new(r.Reset.Time())
	} else {
		out.DueAt = new(r.Due.Time())
	}
	return out
}

// maxRemindSeconds limits the times of reminders to a year.
const maxRemindSeconds = 365 * 24 * 60 * 60

// NewReminder converts a new reminder. The engine checks whether its times are
// consistent. Its text with its heading may have most bytes, 0 for no limit.
// problem is "" or an error text with advice.
func NewReminder(
	in *api.NewReminder,
	most int,
	now time.Time,
) (x alerts.Reminder, problem string) {
	in.Text = strings.TrimSpace(in.Text)
	for _, s := range []float64{in.In, in.Soft, in.Hard} {
		if s < 0 || s > maxRemindSeconds {
			return x, "a time must lie between 0 s and a year; give seconds"
		}
	}
	switch {
	case in.Text == "":
		return x, "the text is empty; give it a text"
	case most > 0 && len(wording.Remind)+len(in.Text) > most:
		return x, "the text is too long; shorten it"
	}
	span := func(s float64) alerts.Instant { return alerts.Instant(s * float64(time.Second)) }
	made := transcript.InstantOf(now)
	x = alerts.Reminder{
		ID:    fmt.Sprintf("r%08x", rand.Uint32()),
		From:  in.From,
		Text:  in.Text,
		Made:  made,
		Reset: made,
		Soft:  span(in.Soft),
		Hard:  span(in.Hard),
	}
	if in.In > 0 {
		x.Due = made + span(in.In)
	}
	return x, ""
}
