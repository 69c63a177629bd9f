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

// BelongsTo reports whether a session belongs to a client.
func (s *State) BelongsTo(c Client) bool { return c.is(s) || c.runs(s) }

// Set sets a field by its name in the file. contextUsage is a share, 0 to 1,
// measured now. While the session is full, Set refuses fields that identify the
// session or would release it, because the agent itself can call Set; force is
// for people.
func (s *State) Set(field, value string, now time.Time, force bool) error {
	fixed := []string{
		"pid", "pidStart", "sessionId", "lifecycle", "overflowed",
		"killRequested", "startedAt", "dehydratingSince", "restartRefused",
	}
	if s.Overflowed && !force && slices.Contains(fixed, field) &&
		(field != "overflowed" || value == "false") {
		return fmt.Errorf(
			"the context is still full, so %s stays as it is; hand the session over with 'sm session dehydrate' and 'sm session restart'",
			field,
		)
	}
	changed := *s
	names, values := files.Fields(&changed)
	i := slices.Index(names, field)
	if i < 0 {
		return fmt.Errorf("no field %q; there are %s", field, strings.Join(names, ", "))
	}
	if err := setText(values[i], field, value); err != nil {
		return err
	}
	switch field {
	case "contextUsage":
		changed.LastHeartbeat = second(now)
	case "pid":
		changed.PIDStart = "" // of another process
	}
	*s = changed
	return nil
}

func setText(to reflect.Value, field, value string) error {
	var want string
	var err error
	ok := true
	switch x := to.Addr().Interface().(type) {
	case *string:
		want = fmt.Sprintf("a text of at most %d bytes", maxText)
		*x = value
		ok = utf8.ValidString(value) && len(value) <= maxText
	case *Lifecycle:
		want = fmt.Sprintf("one of %v", Lifecycles())
		*x = Lifecycle(value)
		ok = slices.Contains(Lifecycles(), *x)
	case *bool:
		want = "true or false"
		*x = value == "true"
		ok = *x || value == "false"
	case *int:
		want = "the number of a process"
		*x, err = strconv.Atoi(value)
		ok = *x >= 2 && *x <= math.MaxInt32
	case *float64:
		want = "a share from 0 to 1, such as 0.85"
		*x, err = strconv.ParseFloat(value, 64)
		ok = *x >= 0 && *x <= 1
	case *time.Time:
		want = "a time such as 2026-01-02T15:04:05Z"
		*x, err = time.Parse(time.RFC3339, value)
		*x = second(*x)
	}
	if err != nil || !ok {
		return fmt.Errorf("%s is %s; give one", field, want)
	}
	return nil
}
