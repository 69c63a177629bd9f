// Package guard refuses the tool calls of a session whose context is nearly
// full, until its agent has handed over. It keeps the state of each guarded
// session in the project's file sessions/NAME/.state.json, decides about tool
// calls ([Guard.Check]), and implements the changes of sm session.
//
// Invariants:
//
//   - A state belongs to a client by session id, else by pid and start time of
//     the process, so that a reused pid matches nothing.
//   - A session that has overflowed is released by a fresh context or by a
//     person, never by a call that an agent can make in a full context.
//   - Concurrent writers do not lose each other's fields, and members of other
//     programs are kept.
//   - Links, irregular files and files of other users are refused. A damaged file is kept.
//
// The package neither ends nor starts clients and reads no transcripts: callers
// pass the context fill.
package guard

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"sm/transcript/wording"
)

// Guard has the settings. The tags are those of the configuration.
type Guard struct {
	// Threshold is the share of the window, above 0 and at most 1, from which
	// calls are refused.
	Threshold float64 `yaml:"overflow_threshold" default:"0.76" bounds:">0..1"`
	// Allow are the tools that a full session may use on its document.
	Allow   []string `yaml:"allow" is:"name" default:"Write,Edit,Read"`
	Program string   `yaml:"-"` // path of our own binary
}

// UsageUnknown is the fill of a context of unknown size. It is below any threshold.
const UsageUnknown = -1

// Refusal returns the text for the agent when a tool call is refused. dir is
// the session's folder. The text has no percentage, because the status line
// shows 100 at the threshold.
func (g *Guard) Refusal(dir string, s *State) string {
	tools := strings.Join(g.Allow, ", ")
	if i := strings.LastIndex(tools, ", "); i >= 0 {
		tools = tools[:i] + " and " + tools[i+2:]
	}
	if tools != "" {
		tools += " of " + filepath.Join(dir, DocumentFile) + ", and "
	}
	refused := ""
	if s.RestartRefused != "" {
		refused = fmt.Sprintf(" The restart that was asked for did not come: %s. Where that stays so, tell the user that the document is "+
			"written and where, ask for a fresh session that reads it, and stop.", shown(
			s.RestartRefused,
			maxReason,
		))
	}
	return fmt.Sprintf("CONTEXT OVERFLOW: this session has used up its context, so this tool call was not made. Run /session dehydrate restart now: "+
		"it writes down what the work needs and goes on in a fresh context. What still works: %splain sm commands such as "+
		"'sm session dehydrate' and 'sm session restart', alone and without pipes.%s", tools, refused)
}

// Bind stores the session of a client's process: its first session, or another
// one after a clear. It stores nothing while the session is being ended: a late
// report would bind the state to the session that is left.
func (s *State) Bind(c Client) (changed bool) {
	if !c.runs(s) || c.SessionID == "" || s.SessionID == c.SessionID ||
		s.KillRequested || s.Overflowed || s.Lifecycle == SessionDehydrating {
		return false
	}
	if s.SessionID != "" {
		s.ContextUsage = 0 // the old value is of another context
	}
	s.SessionID = c.SessionID
	s.PIDStart = c.Start
	return true
}

// Report applies a report of the status line: usage is the used share of the
// window, or UsageUnknown. It reports whether anything has changed; the
// heartbeat changes once a second.
func (s *State) Report(c Client, usage float64, now time.Time) (changed bool) {
	changed = s.Bind(c)
	if usage = min(usage, 1); usage >= 0 && usage != s.ContextUsage {
		s.ContextUsage = usage
		changed = true
	}
	if now = second(now); now.After(s.LastHeartbeat) {
		s.LastHeartbeat = now
		changed = true
	}
	return changed
}

// Line returns the status line of a session: NAME [skill/phase] NN%, where 100 is the
// threshold and is not shown below it.
func (g *Guard) Line(name string, s *State) string {
	work := word(s.Skill)
	if phase := slug(s.CurrentPhase); phase != "" {
		work += "/" + phase
	}
	percent := min(99, math.Round(100*max(0, s.ContextUsage)/g.Threshold))
	if s.Overflowed || s.ContextUsage >= g.Threshold {
		percent = 100
	}
	return fmt.Sprintf("%s [%s] %.0f%%", word(name), work, percent)
}

// maxLine limits a part of the line, maxReason a reason, in characters.
const (
	maxLine   = 80
	maxReason = 300
)

// word returns a text shortened for use in a line.
func word(text string) string { return shown(text, maxLine) }

// shown returns the printable characters of a text in one line, at most most of them.
func shown(text string, most int) string {
	text = strings.ReplaceAll(wording.OneLine(text, unicode.IsPrint), "\ufffd", "")
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// slug converts "Phase 5: Build Loop" to build-loop.
func slug(phase string) string {
	words := strings.FieldsFunc(
		strings.ToLower(phase),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) },
	)
	name := words
	if len(name) > 0 && name[0] == "phase" {
		name = name[1:]
		for len(name) > 0 && name[0][0] >= '0' && name[0][0] <= '9' { // 5, 5.1, 5a
			name = name[1:]
		}
	}
	if len(name) == 0 { // the phase has no other name
		name = words
	}
	return word(strings.Join(name, "-"))
}
