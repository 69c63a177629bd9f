//go:build realclient

package main_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
	"sm/transcript"
)

// exactMetrics are the metrics whose series are all in r.wanted.
var exactMetrics = []string{
	"agent_session_context_tokens", "agent_session_transcript_compactions", "agent_session_compactions_total",
	"agent_compactions_total", "agent_tokens_total",
}

// wanted is what /metrics must show, by what the model has said.
func (r *watchedRun) wanted() metricValues {
	sum := transcript.Usage{}
	m := metricValues{
		`agent_compactions_total{client="claude",trigger="auto"}`:    float64(r.auto),
		`agent_compactions_total{client="claude",trigger="idle"}`:    0,
		`agent_compactions_total{client="claude",trigger="manual"}`:  float64(r.manual),
		`agent_compactions_total{client="claude",trigger="unknown"}`: 0,
		`agent_compaction_pre_tokens_count{client="claude"}`:         float64(r.auto + r.manual),
		`sm_transcript_lines_total{result="bad"}`:                    0,
	}
	m[`sm_transcript_lines_total{result="ok"}`], m["sm_transcript_bytes_total"] = volume(r.t, r.home.projects)
	for id, k := range r.known {
		sum = sum.Plus(k.tokens).Plus(k.sideTokens)
		label := r.label[id]
		m[sessionSeries("agent_session_compactions_total", label, `,trigger="auto"`)] += float64(k.auto)
		m[sessionSeries("agent_session_compactions_total", label, `,trigger="manual"`)] += float64(k.manual)
		m[sessionSeries("agent_session_compactions_total", label, `,trigger="idle"`)] = 0
		m[sessionSeries("agent_session_compactions_total", label, `,trigger="unknown"`)] = 0
		if r.sits[label] != id {
			continue // the agent has left it
		}
		if k.context > 0 {
			m[sessionSeries("agent_session_context_tokens", label, "")] = float64(k.context)
		}
		m[sessionSeries("agent_session_transcript_compactions", label, `,trigger="auto"`)] = float64(k.auto)
		m[sessionSeries("agent_session_transcript_compactions", label, `,trigger="manual"`)] = float64(k.manual)
		m[sessionSeries("agent_session_transcript_compactions", label, `,trigger="idle"`)] = 0
		m[sessionSeries("agent_session_transcript_compactions", label, `,trigger="unknown"`)] = 0
	}
	m[`agent_tokens_total{client="claude",kind="input"}`] = float64(sum.Input)
	m[`agent_tokens_total{client="claude",kind="cache_creation"}`] = float64(sum.CacheCreation)
	m[`agent_tokens_total{client="claude",kind="cache_read"}`] = float64(sum.CacheRead)
	m[`agent_tokens_total{client="claude",kind="output"}`] = float64(sum.Output)
	return m
}

// like picks the series in want, and those of exactMetrics.
func (m metricValues) like(want metricValues) metricValues {
	out := metricValues{}
	for series, v := range m {
		name, _, _ := strings.Cut(series, "{")
		if _, there := want[series]; there || slices.Contains(exactMetrics, name) {
			out[series] = v
		}
	}
	return out
}

// volume adds up the lines of all transcripts. The client never rewrites one, so each was read once.
func volume(t *testing.T, projects string) (lines, size float64) {
	t.Helper()
	err := filepath.WalkDir(projects, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" {
			return err
		}
		text, err := os.ReadFile(path)
		lines += float64(bytes.Count(text, []byte("\n")))
		size += float64(len(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, size
}

// sums holds each session's figures against the model, and its compactions against a plain reading of its transcript.
func (r *watchedRun) sums(what string) {
	r.t.Helper()
	counted := map[string]bool{}
	for id, s := range r.sm.sessions() {
		k := r.known[id]
		if k == nil {
			r.t.Errorf("%s: session %s is not known", what, id)
			continue
		}
		want := scanned{
			Turns:       k.turns,
			Messages:    k.messages,
			Tokens:      api.Tokens(k.tokens),
			Compactions: api.Compactions{Auto: k.auto, Manual: k.manual},
			Inherited:   k.copied,
			Subagents:   api.Subagents{Files: s.Subagents.Files, Messages: k.side, Tokens: api.Tokens(k.sideTokens)},
		}
		got := scanned{
			Turns:       s.Turns,
			Messages:    s.Messages,
			Tokens:      s.Tokens,
			Compactions: s.Compactions,
			Inherited:   s.Inherited,
			Subagents:   s.Subagents,
		}
		if k.copied > 0 {
			got.Turns = want.Turns // some were copied
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.t.Errorf("%s: session %s (-want +got):\n%s", what, id, diff)
		}
	}
	for _, id := range r.order {
		k := r.known[id]
		triggers := map[string]int{}
		copied := 0
		for _, b := range boundaries(r.t, r.home.projects, id) {
			if counted[b.UUID] {
				copied++
			} else {
				triggers[b.Metadata.Trigger]++
			}
			counted[b.UUID] = true
		}
		want := map[string]int{"auto": k.auto, "manual": k.manual}
		maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
		if diff := cmp.Diff(want, triggers); diff != "" || copied != k.copied {
			r.t.Errorf(
				"%s: the transcript of %s has %d copied boundaries, wanted %d, and these of its own (-want +got):\n%s",
				what,
				id,
				copied,
				k.copied,
				diff,
			)
		}
	}
}

// boundary is a compaction as a transcript gives it.
type boundary struct {
	Subtype  string `json:"subtype"`
	UUID     string `json:"uuid"`
	Metadata struct {
		Trigger     string `json:"trigger"`
		Precomputed bool   `json:"precomputed"`
	} `json:"compactMetadata"`
}

// boundaries reads a session's compactions with nothing of ours; each uuid once.
func boundaries(t *testing.T, projects, id string) (found []boundary) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(projects, "*", id+".jsonl"))
	if err != nil || len(paths) > 1 {
		t.Fatalf("transcripts of %s: %q, %v", id, paths, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var b boundary
			if json.Unmarshal(line, &b) != nil || b.Subtype != "compact_boundary" {
				continue
			}
			if !slices.ContainsFunc(found, func(x boundary) bool { return x.UUID == b.UUID }) {
				found = append(found, b)
			}
		}
	}
	return found
}
