package outbox

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
)

// sec returns a time in seconds after a fixed one.
func sec(s float64) time.Time {
	return time.Date(
		2026,
		8,
		1,
		12,
		0,
		0,
		0,
		time.UTC,
	).Add(time.Duration(s * float64(time.Second)))
}

func key(cycle int, k alerts.Kind) alerts.Key {
	return alerts.Key{
		Agent: "a",
		Cycle: cycle,
		Kind:  k,
	}
}

// put puts a message that must be accepted.
func put(t testing.TB, q *Queue, m Message) Message {
	t.Helper()
	got, err := q.Put(m, sec(0))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// offer makes an offer by a hook that must succeed.
func offer(t testing.TB, q *Queue, to string, s float64) {
	t.Helper()
	if q.Offer(to, Hook, sec(s), nil).ID == "" {
		t.Fatalf("no offer to %s", to)
	}
}

func TestPut(t *testing.T) {
	q := New(Defaults(), free)
	local := sec(1).In(time.FixedZone("", 3600))
	m, err := q.Put(Message{
		ID:   "zzz",
		Seq:  99,
		To:   "a",
		Key:  key(1, alerts.KindWarning),
		From: "sm",
		Mode: 9,
		Text: "x",
		Made: sec(77),
	}, local)
	want := Message{
		ID:   m.ID,
		Seq:  1,
		To:   "a",
		Key:  key(1, alerts.KindWarning),
		From: "sm",
		Mode: alerts.Urgent,
		Text: "x",
		Made: sec(1),
	}
	if err != nil || m != want {
		t.Errorf("%v, (-want +got):\n%s", err, cmp.Diff(want, m))
	}
	if len(m.ID) != idLength {
		t.Errorf("id %q", m.ID)
	}
	if got := q.Find(m.ID); got != m {
		t.Errorf("found %+v", got)
	}
	if q.Find("zzz").ID != "" {
		t.Error("the caller's id was used")
	}
}

func TestPutRefuses(t *testing.T) {
	long := strings.Repeat("x", 4096)
	for _, c := range []struct {
		name string
		m    Message
		want error
	}{
		{"just fits", Message{To: "a", Text: long}, nil},
		{"too long", Message{To: "a", Text: long + "x"}, ErrTooLong},
		{"too long a notice", Message{To: "a", Key: key(1, 0), Text: long + "x"}, ErrTooLong},
		{"empty", Message{To: "a"}, ErrEmpty},
		{"space", Message{To: "a", Text: " \t\n\u2003"}, ErrEmpty},
		{"bytes", Message{To: "a", Text: "x\xff"}, ErrText},
		{"bytes in a name", Message{To: "a", Text: "x", From: "\xff"}, ErrText},
		{"bytes in a ref", Message{To: "a", Text: "x", Ref: "\xff"}, ErrText},
		{"bytes in a key", Message{
			To:   "a",
			Text: "x",
			Key:  alerts.Key{Agent: "\xff"},
		}, ErrText},
		{"no recipient", Message{Text: "x"}, ErrNoRecipient},
	} {
		q := New(Defaults(), free)
		_, err := q.Put(c.m, sec(0))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
		if n := len(q.Of("")); (n == 1) != (c.want == nil) || n != q.Waiting() {
			t.Errorf("%s: %d messages, %d wait", c.name, n, q.Waiting())
		}
		if err != nil &&
			(strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), ": ")) {
			t.Errorf("%s: not one line with a remedy: %q", c.name, err)
		}
	}
}
