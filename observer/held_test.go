package observer

import (
	"net/http"
	"testing"

	"sm/observer/api"
)

// TestReminderIsHeldWhileItsAgentCompacts: it is due, and says why it is not said.
func TestReminderIsHeldWhileItsAgentCompacts(t *testing.T) {
	t.Parallel()
	r := newStage(t, &stage{})
	post := func(path string, body any, code int) {
		t.Helper()
		if got := r.onSocket(http.MethodPost, path, body, nil); got != code {
			t.Fatalf("%s: %d", path, got)
		}
	}
	state := func() string {
		var list api.Reminders
		r.onSocket(http.MethodGet, "/reminders", nil, &list)
		if len(list.Reminders) == 0 {
			return "said"
		}
		return list.Reminders[0].State
	}
	post(
		"/hooks/context-usage",
		map[string]string{"session_id": "w1", "event": "compaction", "trigger": "auto"},
		http.StatusOK,
	)
	post("/sessions/w1/reminders", api.NewReminder{Text: "Look at CI.", In: 0.01}, http.StatusCreated)
	r.until("it is held", func() bool { return state() == api.ReminderHeld })
	post("/hooks/context-usage", map[string]string{"session_id": "w1", "event": "compaction_complete"}, http.StatusOK)
	r.until("it is said", func() bool { return state() == "said" })
}
