// Package historytest reads histories for tests of the packages that draw on
// them.
//
// A history is settled as of one day in 2030, later than all transcripts of
// tests, so that nothing depends on today. Only tests import it; those of
// package history itself have functions of their own, since they see its
// inside.
package historytest

import (
	"testing"
	"time"

	"sm/observer/history"
	"sm/transcript/clients/clientstest"
)

// Settled reads the transcripts in some folders and settles the history,
// as of 2030. It ends the test where that fails.
func Settled(t *testing.T, dirs ...string) *history.History {
	t.Helper()
	h, err := history.Read(t.Context(), history.Options{Clients: clientstest.Table()}, dirs)
	if err != nil {
		t.Fatal(err)
	}
	h.Settle(nil, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	return h
}
