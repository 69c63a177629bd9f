package observer

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"sm/observer/access"
	"sm/observer/api"
	"sm/transcript/claude/hook"
)

// Hook takes in a hook of a client from within this process and returns what the
// client is to be told, as POST /hooks/claude does: it is how a demo's agents, which
// are no processes, speak. The error says that it is not stored, or that the observer
// has ended.
func (a *App) Hook(ctx context.Context, p *hook.Payload) (hook.Answer, error) {
	now := time.Now()
	answer, offered, err := (&signals{a}).answerHook(ctx, p, now)
	if err != nil && offered != "" {
		_ = a.do(context.WithoutCancel(ctx), func(c *core) { c.queue.Unoffer(offered, now) })
	}
	return answer, err
}

// Status takes in a report of a status line from within this process, as POST /hooks/claude does. The error says that the
// observer has ended.
func (a *App) Status(ctx context.Context, s *hook.Status) error {
	return a.do(ctx, func(c *core) { c.status(s, time.Now()) })
}

// closeToAgents takes the doors by which real agents come in off an observer of made-up
// ones: what is left can be read, and texts can be sent to the agents that there are.
// Hooks are answered with nothing, as by an observer that is not there: the client must
// not notice. Everybody else is told.
func closeToAgents(routes []access.Route) {
	for i, r := range routes {
		reads := !slices.ContainsFunc(r.Methods, func(m string) bool { return m != http.MethodGet })
		switch {
		case r.Pattern == "/hooks/claude":
			routes[i].Handler = handler(func(w http.ResponseWriter, _ *http.Request) error {
				answerRaw(w, nil)
				return nil
			})
		case r.Pattern == "/hooks/context-usage":
			routes[i].Handler = handler(func(w http.ResponseWriter, _ *http.Request) error {
				return answerJSON(w, http.StatusOK, api.Usage{Status: "unknown_session"})
			})
		case r.Pattern == "/open":
		case reads && !strings.HasPrefix(r.Pattern, "/runs/"):
		case strings.HasPrefix(r.Pattern, "/sessions/{id}/messages"), strings.HasPrefix(r.Pattern, "/sessions/{id}/reminders"):
		default:
			routes[i].Handler = handler(func(http.ResponseWriter, *http.Request) error {
				return refuse(http.StatusForbidden, "this observer shows made-up agents and takes no real ones; stop it and start 'sm observe'")
			})
		}
	}
}
