package codex

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

func TestUnknownNames(t *testing.T) {
	var r rollout
	r.add("new_record", `{}`)
	r.event("new_event", `"n":1`)
	r.add("response_item", `{"type":"new_item"}`)
	r.event("item_completed", `"item":{"type":"NewItem"}`)
	r.add("token_usage_record", `{"usage":{"input_tokens":5,"new_tokens":1}}`)
	f, _ := r.fold(t)
	want := []transcript.UnknownName{
		{Kind: transcript.UnknownRecord, Name: "new_record", Count: 1},
		{Kind: transcript.UnknownSubtype, Name: "new_event", Count: 1},
		{Kind: transcript.UnknownSubtype, Name: "new_item", Count: 1},
		{Kind: transcript.UnknownSubtype, Name: "NewItem", Count: 1},
		{Kind: transcript.UnknownUsage, Name: "new_tokens", Count: 1},
	}
	if d := cmp.Diff(want, f.Unknown()); d != "" {
		t.Errorf("unknown names (-want +got):\n%s", d)
	}
}

// TestKnownNames: transcripts that clients wrote hold no unknown name.
func TestKnownNames(t *testing.T) {
	eachThread(t, func(t *testing.T, dir string, th thread) {
		foldThread(t, dir, th, func(f *Fold) {
			if u := f.Unknown(); u != nil {
				t.Errorf("unknown names: %v", u)
			}
		})
	})
}
