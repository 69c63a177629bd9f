package transcript

import (
	"fmt"
	"strings"
	"testing"
)

// TestUnknownsAreBounded tests a transcript with many long unknown names.
func TestUnknownsAreBounded(t *testing.T) {
	var u Unknowns
	for i := range 1000 {
		u.Add(UnknownRecord, []byte(fmt.Sprint(i, strings.Repeat("x", 1000))))
	}
	total := uint64(0)
	for _, x := range u {
		total += x.Count
		if len(x.Name) > maxUnknownName {
			t.Errorf("name of %d bytes", len(x.Name))
		}
	}
	if total != 1000 || len(u) != maxUnknowns {
		t.Errorf("%d names for %d occurrences, want %d for 1000", len(u), total, maxUnknowns)
	}
}
