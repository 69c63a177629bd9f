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
		return 0, fmt.Errorf("no order %q; give one of %s", name, strings.Join(Orders(), ", "))
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
	left := cmp.Compare(urgency.Left(a), urgency.Left(b))
	pressure := cmp.Compare(known(b.Pressure, -1), known(a.Pressure, -1))
	switch o {
	case ByName:
		return strings.Compare(strings.ToLower(nameOf(a)), strings.ToLower(nameOf(b)))
	case ByActivity:
		return known(b.LastActive, time.Time{}).Compare(known(a.LastActive, time.Time{}))
	case ByCompactions:
		return b.Compactions.Total() - a.Compactions.Total()
	case ByReplies:
		return left
	case ByUrgency:
		return cmp.Or(cmp.Compare(urgency.Of(a), urgency.Of(b)), left, pressure)
	}
	return pressure
}

// known returns a figure, or another while it is unknown.
func known[T any](figure *T, unknown T) T {
	if figure == nil {
		return unknown
	}
	return *figure
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
