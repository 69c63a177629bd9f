package backlog

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// A message whose lines do not stand together is listed twice; it counts once, with its last figures.
func TestOnce(t *testing.T) {
	t.Parallel()
	usage := func(output int64) transcript.Usage { return transcript.Usage{Input: 1, Output: output} }
	got := Once([]transcript.Message{
		{ID: 1, Usage: usage(5)}, {ID: 2, Usage: usage(7), Side: true}, {ID: 1, Usage: usage(9), Was: usage(5)},
	})
	want := []transcript.Message{{ID: 1, Usage: usage(9)}, {ID: 2, Usage: usage(7), Side: true}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What a file holds comes out as it went in; what is not newer than the state directory moves no counters.
func TestBegin(t *testing.T) {
	t.Parallel()
	messages := []transcript.Message{
		{ID: 1, At: 10, Usage: transcript.Usage{
			Input:         1,
			CacheCreation: 2,
			CacheRead:     1 << 29,
			Output:        1 << 40,
		}},
		{
			ID:    2,
			At:    11,
			Side:  true,
			Usage: transcript.Usage{Output: 3},
		},
	}
	var b Backlog
	b.Begin(&transcript.Change{
		Messages:    messages,
		Compactions: []transcript.Compaction{{At: 10}, {At: 11, Copied: true}},
	}, 10, 11)
	type kept struct {
		Message transcript.Message
		Counts  bool
	}
	var got []kept
	for i := range b.Messages {
		m, counts := b.Message(i)
		got = append(got, kept{m, counts})
	}
	want := []kept{
		{transcript.Message{
			ID: 1,
			At: longAgo,
			Usage: transcript.Usage{
				Input:         1,
				CacheCreation: 2,
				CacheRead:     1 << 29,
				Output:        figureBits,
			},
		}, false},
		{transcript.Message{
			ID:    2,
			At:    11,
			Side:  true,
			Usage: transcript.Usage{Output: 3},
		}, true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("messages (-want +got):\n%s", d)
	}
	if b.Compactions[0].Counts || !b.Compactions[1].Counts || !b.Copied() {
		t.Errorf("compactions: %+v", b.Compactions)
	}
}

func TestBilled(t *testing.T) {
	t.Parallel()
	var b Backlog
	for i := range maxBills + 2 {
		b.Billed([]transcript.Bill{{Key: transcript.Key(i)}})
	}
	if n := len(b.Bills); n != maxBills || b.Bills[n-1].Key != maxBills+1 {
		t.Errorf("%d bills, the last %d", n, b.Bills[n-1].Key)
	}
}
