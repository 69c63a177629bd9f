// Package guard refuses the tool calls of a session whose context is nearly full, until its agent has handed its work over.
// It keeps the state of each guarded session in the file sessions/NAME/.state.json of the project, decides about tool calls
// ([Guard.Judge]), and carries out what sm session changes.
//
// Invariants:
//
//   - A state belongs to a client by the client's session id, then by its pid with the start time of that process: a pid
//     that the system has used again matches nothing.
//   - A session that has overflowed is freed by a fresh context or by a person. No call that an agent can still make in a
//     full context frees it.
//   - Two writers of a state never lose each other's fields, and members that this version does not know are kept.
//   - A state file of another user, a link and a file that is no regular file are refused. A damaged file is kept.
//
// It ends and starts no client, and does not read transcripts: the caller says how full the context is.
package guard

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Guard says when a session is full, and what it may still do then.
type Guard struct {
	// Threshold is the share of the window, above 0 and at most 1, from which on tool
	// calls are refused.
	Threshold float64
	// Allow are the tools that may still be used on the session's document.
	Allow []string
	// Program is the path of our own binary.
	Program string
}

// UsageUnknown stands for a context whose size is not known: it is below any threshold.
const UsageUnknown = -1

// Refusal is what the agent is told instead of having its tool call made. dir is the
// session's folder. It names no figure: 100 of the status line is the threshold.
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
			"written and where, ask for a fresh session that reads it, and stop.", shown(s.RestartRefused, maxReason))
	}
	return fmt.Sprintf("CONTEXT OVERFLOW: this session has used up its context, so this tool call was not made. Run /session dehydrate restart now: "+
		"it writes down what the work needs and goes on in a fresh context. What still works: %splain sm commands such as "+
		"'sm session dehydrate' and 'sm session restart', alone and without pipes.%s", tools, refused)
}

// Bind takes in that a client's process shows its session for the first time, or another
// one, as after a clear. It does not while the session is being ended: a report that is late
// would tie the state to a session that is to be left.
func (s *State) Bind(c Client) (news bool) {
	if !c.runs(s) || c.SessionID == "" || s.SessionID == c.SessionID || s.ending() {
		return false
	}
	if s.SessionID != "" {
		s.ContextUsage = 0 // it was that of another context
	}
	s.SessionID = c.SessionID
	s.PIDStart = c.Start
	return true
}

func (s *State) ending() bool {
	return s.KillRequested || s.Overflowed || s.Lifecycle == SessionDehydrating
}

// Report takes in a report of the status line: usage is the used share of the window, or
// UsageUnknown. It says whether anything has changed; the heartbeat does once a second.
func (s *State) Report(c Client, usage float64, now time.Time) (changed bool) {
	changed = s.Bind(c)
	if usage = min(usage, 1); usage >= 0 && usage != s.ContextUsage {
		s.ContextUsage, changed = usage, true
	}
	if now = second(now); now.After(s.LastHeartbeat) {
		s.LastHeartbeat, changed = now, true
	}
	return changed
}

// Line is what the status line shows of a session with that name: NAME [skill/phase] NN%,
// where the threshold is 100. It shows 100 from the threshold on and not before.
func (g *Guard) Line(name string, s *State) string {
	work := word(s.Skill)
	if phase := slug(s.CurrentPhase); phase != "" {
		work += "/" + phase
	}
	percent := math.Round(100 * max(0, s.ContextUsage) / g.Threshold)
	switch {
	case s.Overflowed || s.ContextUsage >= g.Threshold:
		percent = 100
	case percent > 99:
		percent = 99
	}
	return fmt.Sprintf("%s [%s] %.0f%%", word(name), work, percent)
}

// maxLine bounds a part of the line, maxReason a reason, in characters.
const (
	maxLine   = 80
	maxReason = 300
)

// word is a text as it can be shown as a part of a line.
func word(text string) string { return shown(text, maxLine) }

// shown is a text as it can be shown in a line, of so many characters at most.
func shown(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// slug makes build-loop of "Phase 5: Build Loop".
func slug(phase string) string {
	words := strings.FieldsFunc(strings.ToLower(phase), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	name := words
	if len(name) > 0 && name[0] == "phase" {
		name = name[1:]
		for len(name) > 0 && name[0][0] >= '0' && name[0][0] <= '9' { // 5, 5.1, 5a
			name = name[1:]
		}
	}
	if len(name) == 0 { // it has no other name
		name = words
	}
	return word(strings.Join(name, "-"))
}
