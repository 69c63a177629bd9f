package top

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"sm/dashboards/urgency"
	"sm/observer/api"
)

// Order is an order of sessions. In each the one that needs attention comes first.
type Order uint8

// The orders. ByUrgency, which is the one without a choice, has those that wait for a person first, then those at work by
// the replies that are left until their compaction, then the idle, then the quiet.
const (
	ByUrgency Order = iota
	ByPressure
	ByReplies
	ByName
	ByActivity
	ByCompactions
)

// Orders are the names of the orders.
func Orders() []string {
	return []string{"urgency", "pressure", "replies", "name", "activity", "compactions"}
}

// String is the order's name, as ParseOrder takes it.
func (o Order) String() string { return Orders()[o] }

// ParseOrder is the order of a name; the error lists all.
func ParseOrder(name string) (Order, error) {
	i := slices.Index(Orders(), name)
	if i < 0 {
		return 0, fmt.Errorf("no order %q; give one of %s", name, strings.Join(Orders(), ", "))
	}
	return Order(i), nil
}

// Sort puts sessions in an order. Equals are ordered by what they are called, then by id.
func Sort(sessions []api.Session, by Order) { sortSessions(sessions, by, false) }

func sortSessions(sessions []api.Session, by Order, backwards bool) {
	slices.SortStableFunc(sessions, func(a, b api.Session) int {
		n := by.compare(&a, &b)
		if backwards {
			n = -n
		}
		return cmp.Or(n, ByName.compare(&a, &b), strings.Compare(a.ID, b.ID))
	})
}

// compare orders two sessions. What is unknown comes last.
func (o Order) compare(a, b *api.Session) int {
	switch o {
	case ByName:
		return strings.Compare(strings.ToLower(nameOf(a)), strings.ToLower(nameOf(b)))
	case ByActivity:
		return active(b).Compare(active(a))
	case ByCompactions:
		return compactionCount(b) - compactionCount(a)
	case ByReplies:
		return cmp.Compare(left(a), left(b))
	case ByUrgency:
		return cmp.Or(cmp.Compare(needOf(a), needOf(b)), cmp.Compare(left(a), left(b)), cmp.Compare(pressure(b), pressure(a)))
	}
	return cmp.Compare(pressure(b), pressure(a))
}

func active(s *api.Session) time.Time {
	if s.LastActive == nil {
		return time.Time{}
	}
	return *s.LastActive
}

// pressure is how near the compaction is, -1 while unknown.
func pressure(s *api.Session) float64 {
	if s.Pressure == nil {
		return -1
	}
	return *s.Pressure
}

// left is in how many replies a compaction is due, in the figure that is shown: by the forecast, else by the pressure alone.
func left(s *api.Session) float64 {
	if replies := repliesOf(s); replies != nil {
		return float64(urgency.Replies(replies.Likely))
	}
	if s.Pressure != nil {
		return urgency.RepliesAt(*s.Pressure)
	}
	return math.Inf(1)
}

func needOf(s *api.Session) urgency.Need { return urgency.Of(s.State, s.IsCompacting) }

// Clients are the names of the clients that sessions can be of, as [OnlyClient] takes them.
func Clients() []string { return []string{"claude", "codex"} }

// ParseClient checks the name of a client, "" for any; the error lists all.
func ParseClient(name string) error {
	if name == "" || slices.Contains(Clients(), name) {
		return nil
	}
	return fmt.Errorf("no client %q; give one of %s", name, strings.Join(Clients(), ", "))
}

// OnlyClient leaves those sessions that one client wrote, all for "". Those of an older observer, which does not say, are
// Claude Code's.
func OnlyClient(sessions []api.Session, client string) []api.Session {
	if client == "" {
		return sessions
	}
	return slices.DeleteFunc(slices.Clone(sessions), func(s api.Session) bool { return cmp.Or(s.Client, Clients()[0]) != client })
}
