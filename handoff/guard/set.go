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
)

// maxGuardText bounds a text in the state, in bytes.
const maxGuardText = 16 << 10

// BelongsTo says whether a session is that of a client.
func (s *State) BelongsTo(c Client) bool { return c.is(s) || c.runs(s) }

// fullKeeps are the fields by which a full session is known, and by which it would be let
// go. Set refuses them while it is full, for the agent itself can call Set.
func fullKeeps() []string {
	return []string{
		"pid", "pidStart", "sessionId", "lifecycle", "overflowed", "killRequested", "startedAt", "dehydratingSince", "restartRefused",
	}
}

// Set gives a field of the file, by its name there, a value that is written as a person
// writes it. contextUsage is a share, 0 to 1, and true of now. It refuses what would let a
// full session go.
func (s *State) Set(field, value string, now time.Time) error {
	if s.Overflowed && slices.Contains(fullKeeps(), field) && (field != "overflowed" || value == "false") {
		return fmt.Errorf("the context is still full, so %s stays as it is; hand the session over with 'sm session dehydrate' and 'sm session restart'", field)
	}
	return s.Override(field, value, now)
}

// Override is Set for a person, who may let a full session go.
func (s *State) Override(field, value string, now time.Time) error {
	var names []string
	for name, to := range s.fields() {
		if names = append(names, name); name != field {
			continue
		}
		if err := setText(to, field, value); err != nil {
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
	return fmt.Errorf("no field %q; there are %s", field, strings.Join(names, ", "))
}

func setText(to reflect.Value, field, value string) error {
	switch x := to.Addr().Interface().(type) {
	case *string:
		if !utf8.ValidString(value) || len(value) > maxGuardText {
			return fmt.Errorf("%s is not a text of at most %d bytes; give another", field, maxGuardText)
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
