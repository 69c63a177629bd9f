package guard

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sm/handoff/files"
)

// maxText bounds a text in the state, in bytes.
const maxText = 16 << 10

// BelongsTo reports whether a session is that of a client.
func (s *State) BelongsTo(c Client) bool { return c.is(s) || c.runs(s) }

// fixed are the fields that identify a full session or would release it. Set refuses them
// while the session is full, since the agent itself can call Set.
func fixed() []string {
	return []string{
		"pid", "pidStart", "sessionId", "lifecycle", "overflowed",
		"killRequested", "startedAt", "dehydratingSince", "restartRefused",
	}
}

// Set sets a field by its name in the file. contextUsage is a share, 0 to 1, measured now.
// It refuses changes that would release a full session.
func (s *State) Set(field, value string, now time.Time) error {
	if s.Overflowed && slices.Contains(fixed(), field) &&
		(field != "overflowed" || value == "false") {
		return fmt.Errorf(
			"the context is still full, so %s stays as it is; hand the session over with 'sm session dehydrate' and 'sm session restart'",
			field,
		)
	}
	return s.Override(field, value, now)
}

// Override is Set for a person, who may release a full session.
func (s *State) Override(field, value string, now time.Time) error {
	names, values := files.Fields(s)
	i := slices.Index(names, field)
	if i < 0 {
		return fmt.Errorf("no field %q; there are %s", field, strings.Join(names, ", "))
	}
	if err := setText(values[i], field, value); err != nil {
		return err
	}
	switch field {
	case "contextUsage":
		s.LastHeartbeat = second(now)
	case "pid":
		s.PIDStart = "" // of another process
	}
	return nil
}

func setText(to reflect.Value, field, value string) error {
	switch x := to.Addr().Interface().(type) {
	case *string:
		if !utf8.ValidString(value) || len(value) > maxText {
			return fmt.Errorf("%s is not a text of at most %d bytes; give another", field, maxText)
		}
		*x = value
	case *Lifecycle:
		if !slices.Contains(Lifecycles(), Lifecycle(value)) {
			return fmt.Errorf("%s is none of %v; give one of them", field, Lifecycles())
		}
		*x = Lifecycle(value)
	case *bool:
		if value != "true" && value != "false" {
			return fmt.Errorf("%s is true or false; give one of them", field)
		}
		*x = value == "true"
	case *int:
		n, err := strconv.Atoi(value)
		if err != nil || n < 2 || n > math.MaxInt32 {
			return fmt.Errorf("%s is no process; give its number", field)
		}
		*x = n
	case *float64:
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || !(f >= 0 && f <= 1) {
			return fmt.Errorf("%s is a share from 0 to 1; give one such as 0.85", field)
		}
		*x = f
	case *time.Time:
		at, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return fmt.Errorf("%s is a time; give one such as 2026-01-02T15:04:05Z", field)
		}
		*x = second(at)
	}
	return nil
}
