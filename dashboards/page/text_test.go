package page

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript/wording"
)

// TestTexts tests figures in the form for people.
func TestTexts(t *testing.T) {
	got := map[string]string{}
	for _, n := range []int64{
		0,
		950,
		1_000,
		9_949,
		9_950,
		104_000,
		999_499,
		999_500,
		1_000_000,
		1_250_000,
		-2_150,
	} {
		got[fmt.Sprint(n)] = short(n) + " " + wording.Thousands(n)
	}
	for _, s := range []float64{30, 600, 6_100, 200_000} {
		got[fmt.Sprint(s, "s")] = Work(s)
	}
	want := map[string]string{
		"0": "0 0", "950": "950 950", "1000": "1k 1,000", "9949": "9.9k 9,949", "9950": "10k 9,950", "104000": "104k 104,000",
		"999499": "999k 999,499", "999500": "1M 999,500", "1000000": "1M 1,000,000", "1250000": "1.2M 1,250,000", "-2150": "−2.1k -2,150",
		"30s": "1 min", "600s": "10 min", "6100s": "1.7 h", "200000s": "2 days",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestKey tests that agents have separate rows, whose names are valid ids.
func TestKey(t *testing.T) {
	seen := map[string]string{}
	for _, s := range append(hostile(), "a", "b") {
		key := Key(s)
		if other, known := seen[key]; known && other != s {
			t.Errorf("%q and %q share a row", s, other)
		}
		if seen[key] = s; !regexp.MustCompile(`^a[0-9a-f]{16}$`).MatchString(key) {
			t.Errorf("got %q", key)
		}
	}
}
