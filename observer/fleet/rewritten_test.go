package fleet

import (
	"testing"

	"sm/alerts"
)

// TestConversationWrittenOnceMore: an old client writes a conversation down once more in the same
// file, with new uuids and the old stamps. Neither the level nor the cycle is another then.
func TestConversationWrittenOnceMore(t *testing.T) {
	first := []string{prompt(
		stampOf(10),
		"p1",
	), reply(
		stampOf(11),
		"m1",
		100_000,
		10,
	), boundary(
		stampOf(20),
		"b1",
		"auto",
		100_010,
	),
		summary(
			stampOf(20),
			"s1",
			"b1",
			"one",
		), reply(
			stampOf(100),
			"m2",
			30_000,
			20,
		), prompt(
			stampOf(300),
			"p2",
		), reply(
			stampOf(301),
			"m3",
			80_000,
			20,
		)}
	em := from("em", 7)
	s := newScene(t).play(starts(1, 1, "startup", em), writes(1, first...))
	o := alerts.Defaults()
	engine, err := alerts.New(o)
	if err != nil {
		t.Fatal(err)
	}
	tell := func() (cycle uint64, tokens int64) {
		for _, ev := range s.news.Events {
			engine.Step(ev)
		}
		s.news = Update{}
		v, _ := engine.Agent("em")
		view, err := s.f.View("em", second(400))
		if err != nil {
			t.Fatal(err)
		}
		return uint64(v.Cycle), view.Tokens
	}
	cycle, tokens := tell()
	if cycle != 2 || tokens != 80_000 {
		t.Fatalf("at first: cycle %d, %d tokens", cycle, tokens)
	}
	s.play(writes(1, copied(first...)...))
	if cycle, tokens := tell(); cycle != 2 || tokens != 80_000 {
		t.Errorf("written once more: cycle %d, %d tokens, want 2 and 80000", cycle, tokens)
	}
	s.play(writes(1, prompt(stampOf(390), "p3"), reply(stampOf(391), "m4", 85_000, 20)))
	if cycle, tokens := tell(); cycle != 2 || tokens != 85_000 {
		t.Errorf("and gone on: cycle %d, %d tokens, want 2 and 85000", cycle, tokens)
	}
}
