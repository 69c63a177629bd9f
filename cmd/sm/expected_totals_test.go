package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sm/observer/api"
	"sm/transcript"
	"sm/transcript/claude"
)

// tally is the expected figures of an observer. It is made of the files as they are,
// each folded by itself, with a map of earlier messages.
type tally struct {
	Counters map[string]float64
	Sessions map[string]seat
	Own      api.Compactions // of all sessions: each in one of them
	own      map[string]api.Compactions
}

// seat is the figures of one session, whatever was copied to or from it.
type seat struct {
	Context     int64 // 0 while unknown
	Compactions int   // inherited ones as well
}

func newTally() tally {
	return tally{Counters: map[string]float64{}, Sessions: map[string]seat{}, own: map[string]api.Compactions{}}
}

func (y *tally) session(id string, context int64, own api.Compactions, inherited int) {
	y.Sessions[id] = seat{context, own.Auto + own.Manual + own.Unknown + inherited}
	y.own[id] = own
	y.Own.Auto += own.Auto
	y.Own.Manual += own.Manual
	y.Own.Unknown += own.Unknown
}

// triggers and kinds are the series in which compactions and tokens are counted.
func (y *tally) count(e transcript.Compaction) {
	y.Counters[`agent_compactions_total{client="claude",trigger="`+e.Trigger.String()+`"}`]++
}

func (y *tally) spend(u transcript.Usage) {
	y.Counters[`agent_tokens_total{client="claude",kind="input"}`] += float64(u.Input)
	y.Counters[`agent_tokens_total{client="claude",kind="cache_creation"}`] += float64(u.CacheCreation)
	y.Counters[`agent_tokens_total{client="claude",kind="cache_read"}`] += float64(u.CacheRead)
	y.Counters[`agent_tokens_total{client="claude",kind="output"}`] += float64(u.Output)
}

// tally folds all files that were written. What happened before since is history
// and moves no counter but those of lines and bytes.
func (a *agents) tally(since time.Time) tally {
	y := newTally()
	born := map[transcript.Key]string{}
	for uuid, id := range a.born {
		born[transcript.KeyOf([]byte(uuid))] = id
	}
	messages := map[transcript.Key]transcript.Usage{}
	compactions := map[transcript.Key]bool{}
	err := filepath.WalkDir(a.projects, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := strings.TrimSuffix(entry.Name(), ".jsonl")
		subagent := strings.HasPrefix(name, "agent-")
		f := foldFile(a.t, path, name, subagent)
		s := f.Session
		y.Counters[`sm_transcript_bytes_total`] += float64(s.Bytes)
		y.Counters[`sm_transcript_lines_total{result="ok"}`] += float64(s.Lines - s.Bad)
		y.Counters[`sm_transcript_lines_total{result="bad"}`] += float64(s.Bad)
		ms, events := f.Take()
		for _, m := range ms {
			if m.At >= transcript.InstantOf(since) {
				y.spend(m.Usage.Minus(messages[m.ID])) // a copy, or more about the same message
				messages[m.ID] = m.Usage
			}
		}
		if subagent {
			return nil
		}
		var own api.Compactions
		inherited := 0
		for _, e := range events {
			if !compactions[e.Key] && e.At >= transcript.InstantOf(since) {
				compactions[e.Key] = true
				y.count(e)
			}
			switch {
			case born[e.Key] != name:
				inherited++
			case e.Trigger == transcript.Auto:
				own.Auto++
			case e.Trigger == transcript.Manual:
				own.Manual++
			default:
				own.Unknown++
			}
		}
		context, known := s.Context()
		if !known {
			context = 0
		}
		y.session(name, context, own, inherited)
		return nil
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return y
}

func foldFile(t *testing.T, path, name string, subagent bool) *claude.Fold {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := claude.NewFold(name, subagent)
	var e transcript.Entry
	for line := range bytes.Lines(text) {
		if whole, ok := bytes.CutSuffix(line, []byte{'\n'}); ok {
			f.Line(whole, len(line), &e)
		}
	}
	return f
}

// tally returns the observer's figures from both of its sources.
func (d *daemon) tally() tally {
	d.t.Helper()
	y := newTally()
	all := d.series()
	for series, v := range all {
		for _, name := range []string{
			"agent_compactions_total",
			"agent_tokens_total",
			"sm_transcript_lines_total",
			"sm_transcript_bytes_total",
		} {
			if strings.HasPrefix(series, name) && v != 0 {
				y.Counters[series] = v
			}
		}
	}
	answer, err := d.api.Sessions(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	for _, s := range answer.Sessions {
		var context int64
		if s.TokensUsed != nil {
			context = *s.TokensUsed
		}
		if shown := all[`agent_session_context_tokens{session="`+s.Label+`"}`]; int64(shown) != context {
			context = -1 // one of both is older
		}
		y.session(s.SessionID, context, s.Compactions, s.Inherited)
	}
	return y
}
