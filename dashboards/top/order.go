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

// ByUrgency is the default order: sessions that wait for a person, then active
// ones by the replies left until their compaction, then idle and quiet ones.
const ByUrgency = "urgency"

// Orders returns the names of the orders. Each begins with the session that needs
// attention most.
func Orders() []string {
	return []string{ByUrgency, "pressure", "replies", "name", "activity", "compactions"}
}

// Sort sorts sessions by one of Orders. Equal sessions are sorted by name, then
// by id.
func Sort(sessions []api.Session, by string, backwards bool) {
	slices.SortStableFunc(sessions, func(a, b api.Session) int {
		n := compare(by, &a, &b)
		if backwards {
			n = -n
		}
		return cmp.Or(n, compare("name", &a, &b), strings.Compare(a.ID, b.ID))
	})
}

// compare compares two sessions. Unknown figures come last.
func compare(by string, a, b *api.Session) int {
	left := cmp.Compare(urgency.Left(a), urgency.Left(b))
	pressure := cmp.Compare(known(b.Pressure, -1), known(a.Pressure, -1))
	switch by {
	case "name":
		return strings.Compare(strings.ToLower(a.DisplayName()), strings.ToLower(b.DisplayName()))
	case "activity":
		return known(b.LastActive, time.Time{}).Compare(known(a.LastActive, time.Time{}))
	case "compactions":
		return b.Compactions.Total() - a.Compactions.Total()
	case "replies":
		return left
	case ByUrgency:
		return cmp.Or(cmp.Compare(urgency.Of(a), urgency.Of(b)), left, pressure)
	}
	return pressure
}

// known returns *figure, or unknown if figure is nil.
func known[T any](figure *T, unknown T) T {
	if figure == nil {
		return unknown
	}
	return *figure
}

// CheckName returns an error that lists all if name is neither "" nor in all.
// kind is that of the names, for the error.
func CheckName(kind, name string, all []string) error {
	if name == "" || slices.Contains(all, name) {
		return nil
	}
	return fmt.Errorf("no %s %q; give one of %s", kind, name, strings.Join(all, ", "))
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
