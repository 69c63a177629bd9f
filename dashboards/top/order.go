package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sm/dashboards/urgency"
	"sm/observer/api"
)

// Order is an order of sessions. Each begins with the session that needs
// attention most.
type Order uint8

// The orders. ByUrgency, the default, begins with sessions that wait for a
// person, then come those at work by the replies that are left until their
// compaction, then the idle and the quiet.
const (
	ByUrgency Order = iota
	ByPressure
	ByReplies
	ByName
	ByActivity
	ByCompactions
)

// Orders returns the names of the orders.
func Orders() []string {
	return []string{"urgency", "pressure", "replies", "name", "activity", "compactions"}
}

// String returns the name that ParseOrder accepts.
func (o Order) String() string { return Orders()[o] }

// ParseOrder returns the order of a name; its error lists all names.
func ParseOrder(name string) (Order, error) {
	i := slices.Index(Orders(), name)
	if i < 0 {
		return 0, fmt.Errorf(
			"no order %q; give one of %s",
			name,
			strings.Join(Orders(), ", "),
		)
	}
	return Order(i), nil
}

// Sort sorts sessions. Equals are ordered by name, then by id.
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

// compare compares two sessions. Unknown figures come last.
func (o Order) compare(a, b *api.Session) int {
	switch o {
	case ByName:
		return strings.Compare(strings.ToLower(nameOf(a)), strings.ToLower(nameOf(b)))
	case ByActivity:
		return active(b).Compare(active(a))
	case ByCompactions:
		return b.Compactions.Total() - a.Compactions.Total()
	case ByReplies:
		return cmp.Compare(urgency.Left(a), urgency.Left(b))
	case ByUrgency:
		return cmp.Or(
			cmp.Compare(urgency.Of(a), urgency.Of(b)),
			cmp.Compare(urgency.Left(a), urgency.Left(b)),
			cmp.Compare(pressure(b), pressure(a)),
		)
	}
	return cmp.Compare(pressure(b), pressure(a))
}

func active(s *api.Session) time.Time {
	if s.LastActive == nil {
		return time.Time{}
	}
	return *s.LastActive
}

// pressure returns the share of the compaction threshold, -1 while unknown.
func pressure(s *api.Session) float64 {
	if s.Pressure == nil {
		return -1
	}
	return *s.Pressure
}

// ParseClient checks the name of a client, "" for any; its error lists all.
func ParseClient(name string, all []string) error {
	if name == "" || slices.Contains(all, name) {
		return nil
	}
	return fmt.Errorf("no client %q; give one of %s", name, strings.Join(all, ", "))
}

// OnlyClient returns the sessions of one client, or all for "". An older observer
// does not name the client; its sessions are Claude Code's.
func OnlyClient(sessions []api.Session, client string) []api.Session {
	if client == "" {
		return sessions
	}
	return slices.DeleteFunc(
		slices.Clone(sessions),
		func(s api.Session) bool { return cmp.Or(s.Client, "claude") != client },
	)
}
