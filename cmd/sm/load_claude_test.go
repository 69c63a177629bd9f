package main

import (
	"bytes"
	"path/filepath"
	"time"

	"sm/transcript/transcripttest"
)

// claudeFile is one transcript of Claude Code that is being written.
type claudeFile struct {
	*transcripttest.Session
	lines   [][]byte
	counted transcripttest.Figures // what the load's totals have of it
}

func (f *claudeFile) Write(line []byte) (int, error) {
	f.lines = append(f.lines, bytes.Clone(line))
	return len(line), nil
}

// claudeSessions begins sessions of Claude Code in a folder of projects.
func claudeSessions(projects string) func(*load) *author {
	return func(l *load) *author {
		versions := []string{"2.1.17", "2.1.44", "2.1.97", "2.1.197", "2.1.270"}
		f := &claudeFile{}
		f.Session = transcripttest.NewSession(f, l.rand.Uint64(), transcripttest.SessionOptions{
			Version: versions[l.rand.IntN(len(versions))],
			Start:   time.Now(),
		})
		return claudeAuthor(l, projects, f, 5+l.rand.IntN(40))
	}
}

func claudeAuthor(l *load, projects string, f *claudeFile, turns int) *author {
	a := &author{turns: turns}
	// settle takes what a file has come to hold.
	settle := func(f *claudeFile) {
		path := filepath.Join(projects, filepath.FromSlash(f.Path()))
		for _, line := range f.lines {
			a.queue = append(a.queue, queued{path, line})
		}
		f.lines = nil
		if f.Now().After(a.due) {
			a.due = f.Now()
		}
		l.truth.claude(f)
	}
	if len(f.lines) > 0 { // copied: its file has one author
		settle(f)
	}
	a.next = func(now time.Time) {
		f.Pass(max(0, now.Sub(f.Now())))
		if kinds := f.Copies(); len(kinds) > 0 && l.chance(2) {
			n := &claudeFile{}
			n.Session = f.Copy(n, kinds[l.rand.IntN(len(kinds))])
			l.live[l.rand.IntN(len(l.live))].turns = 0 // one ends where one begins
			l.live = append(l.live, claudeAuthor(l, projects, n, 1+l.rand.IntN(20)))
		}
		claudeTurn(l, f)
		settle(f)
		if l.chance(10) {
			n := &claudeFile{}
			if n.Session = f.Subagent(n); n.Session != nil {
				for range 1 + l.rand.IntN(4) {
					n.Reply(transcripttest.Reply{Tools: 1})
					n.ToolResult(transcripttest.Result{Size: l.rand.IntN(3000)})
				}
				settle(n)
			}
		}
	}
	return a
}

// claudeTurn is a prompt with the replies to it.
func claudeTurn(l *load, f *claudeFile) {
	f.Prompt("")
	for range l.rand.IntN(6) {
		tools := 1 + l.rand.IntN(2)
		f.Reply(transcripttest.Reply{Tools: tools, Thinking: l.chance(20), Text: l.rand.IntN(200) - 1})
		if f.Context() > 160_000 || l.chance(2) {
			f.Compact(transcripttest.Compaction{Trigger: transcripttest.Auto, SummaryLate: l.chance(20)})
		}
		for range tools {
			f.ToolResult(transcripttest.Result{Size: l.rand.IntN(6000), Error: l.chance(10)})
		}
	}
	f.Reply(transcripttest.Reply{Text: l.rand.IntN(900)})
	f.TurnDuration()
	if l.chance(3) {
		f.Compact(transcripttest.Compaction{Trigger: transcripttest.Manual})
	}
	if l.chance(5) {
		f.Replay(l.rand.IntN(6))
	}
}

// claude takes what a transcript has come to hold since the last time.
func (w *writing) claude(f *claudeFile) {
	t := f.Truth()
	now := t.Figures
	was := f.counted
	f.counted = now
	tokens := func(name string, of func(transcripttest.Tokens) int64) {
		w.count(`agent_tokens_total{client="claude",kind="`+name+`"}`,
			of(now.Tokens)+of(now.Sidechain.Tokens)-of(was.Tokens)-of(was.Sidechain.Tokens))
	}
	tokens("input", func(t transcripttest.Tokens) int64 { return t.Input })
	tokens("output", func(t transcripttest.Tokens) int64 { return t.Output })
	tokens("cache_read", func(t transcripttest.Tokens) int64 { return t.CacheRead })
	tokens("cache_creation", func(t transcripttest.Tokens) int64 { return t.CacheCreation })
	if t.AgentID != "" {
		return
	}
	w.count(`agent_compactions_total{client="claude",trigger="auto"}`, int64(now.Compactions.Auto-was.Compactions.Auto))
	w.count(
		`agent_compactions_total{client="claude",trigger="manual"}`,
		int64(now.Compactions.Manual-was.Compactions.Manual),
	)
	w.count(
		`agent_compactions_total{client="claude",trigger="unknown"}`,
		int64(now.Compactions.Unknown-was.Compactions.Unknown),
	)
	s := seat{Compactions: t.Alone.Compactions.Total()}
	if t.Known {
		s.Context = t.ContextTokens
	}
	w.Sessions[t.SessionID] = s
	w.cycles[t.SessionID] = 1 + s.Compactions
}
