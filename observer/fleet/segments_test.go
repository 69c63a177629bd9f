package fleet

import (
	"testing"
	"time"

	"sm/transcript"
	"sm/transcript/clients/clientstest"
	"sm/transcript/codex"
)

// part returns a file of one thread, read completely.
func part(
	path, id string,
	from time.Duration,
	tokens int64,
	compactions, turns int,
) transcript.Change {
	at := transcript.InstantOf(created.Add(from))
	s := transcript.Session{
		ID:      id,
		Model:   "gpt-6-sol",
		Started: at,
		Active:  at + 1e9,
		Sums: transcript.Sums{
			Compactions: transcript.TriggerCounts{compactions, 0, 0},
			Messages:    turns,
			Tokens:      transcript.Usage{Input: 1000 * int64(turns)},
		},
		Turns: turns,
		Bytes: 100,
		Lines: 10,
		Peak:  tokens,
	}
	s.Reading = transcript.Reading{At: at, Tokens: tokens}
	s.SetParticulars(transcript.Particulars{Client: codex.Client, Window: 258_400})
	c := transcript.Change{
		Cursor:  transcript.Cursor{Path: path},
		Client:  codex.Client,
		Name:    id,
		Whole:   true,
		Session: s,
	}
	for i := range turns {
		c.Messages = append(c.Messages, transcript.Message{
			ID: transcript.Join(
				transcript.KeyOf([]byte(path[:len(path)-6])),
				transcript.Key(i+1),
			),
			At:    at,
			Usage: transcript.Usage{Input: 1000},
		})
	}
	for i := range compactions {
		key := transcript.Join(7, transcript.KeyOf([]byte(path)), transcript.Key(i))
		c.Compactions = append(c.Compactions, transcript.Compaction{
			Key:       key,
			Own:       key,
			At:        at,
			Boundary:  true,
			PreTokens: 240_000,
		})
	}
	return c
}

// TestSegments tests that a rewound thread continues in another file: the newest has the
// context, the totals are of all files, and a copy of a file counts once.
func TestSegments(t *testing.T) {
	f := unsettled()
	id := uuid(1)
	day := "/h/sessions/2026/11/22/rollout-2026-11-22T00-00-00-"
	first := part(day+id+".jsonl", id, 0, 200_000, 2, 5)
	f.Apply(first)
	second := part(day+id+"_"+uuid(2)+".jsonl", id, time.Hour, 50_000, 1, 2)
	f.Apply(second)
	archived := first
	archived.Cursor.Path = "/h/archived_sessions/" + day[len("/h/sessions/2026/11/22/"):] + id + ".jsonl.zst"
	f.Apply(archived)
	f.Settle(created)
	check := func(when string) {
		t.Helper()
		views := f.Views(created.Add(2 * time.Hour))
		if len(views) != 1 {
			t.Fatalf("%s: %d sessions", when, len(views))
		}
		v := views[0]
		if v.SessionID != id || v.Program != codex.Client || v.Agent.Provider != codex.Client ||
			v.Path != second.Cursor.Path ||
			v.Reading.Tokens != 50_000 ||
			v.Compactions != (transcript.TriggerCounts{
				3,
				0,
				0,
			}) || 1+v.Total() != 4 || v.Turns != 7 || v.Messages != 7 || v.Tokens.Input != 7000 || v.Peak != 200_000 || v.Lines != 20 ||
			!v.Started.Time().Equal(created) {
			t.Errorf("%s: %+v", when, v)
		}
	}
	check("read")
	f = New(Options{Clients: clientstest.Table()}, stored(t, f))
	check("after a restart")
}
