package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"sm/observer/api"
)

// writeSessions prints sessions as a table: whose context is how full, and how often each was compacted.
func writeSessions(w io.Writer, sessions []api.Session, now time.Time, colour bool) error {
	t := table{headers: []string{"PROJECT", "SESSION", "MODEL", "CONTEXT", " USED", " TOKENS", "COMPACTIONS", "LAST ACTIVITY"}, colour: colour}
	rotates := slices.ContainsFunc(sessions, func(s api.Session) bool { return s.Handoff != "" || s.Brake != "" })
	if rotates {
		t.headers = append(t.headers, "HANDOFF")
	}
	for _, s := range sessions {
		if s.State == "left" {
			continue // its agent has gone on to another session, which stands here
		}
		context, used, tokens := contextCells(s)
		cells := []cell{{shortName(s.Project, 24), ""}, {sessionName(s), ""}, {shortName(strings.TrimPrefix(s.Model, "claude-"), 20), dim},
			context, used, tokens, {compactionsText(s), ""}, {ago(s.LastActive, now), dim}}
		if rotates {
			cells = append(cells, handoffCell(s))
		}
		t.add(cells...)
	}
	return t.write(w)
}

// sessionName is what to type to mean this session.
func sessionName(s api.Session) string {
	if name := cmp.Or(s.Label, s.Name); name != "" {
		return shortName(name, 20)
	}
	return shortName(s.SessionID[:min(8, len(s.SessionID))], 20)
}

func contextCells(s api.Session) (context, used, tokens cell) {
	if s.TokensUsed == nil || s.UsedPercentage == nil {
		return cell{bar(0), dim}, cell{"–", dim}, cell{"– / " + tokensText(s.WindowTokens), dim}
	}
	colour := map[string]string{"early_warn": yellow, "warn": orange, "critical": red}[s.Level]
	return cell{bar(*s.UsedPercentage), colour}, cell{fmt.Sprintf("%d%%", *s.UsedPercentage), colour},
		cell{tokensText(*s.TokensUsed) + " / " + tokensText(s.WindowTokens), ""}
}

// handoffCell is how far a handoff is, or what keeps the agent from one.
func handoffCell(s api.Session) cell {
	if s.Brake != "" {
		return cell{strings.TrimSpace(s.Handoff + " " + s.Brake), orange}
	}
	return cell{s.Handoff, ""}
}

// compactionsText writes counts as "3 auto, 1 manual"; "–" for none.
func compactionsText(s api.Session) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{s.Compactions.Auto, "auto"}, {s.Compactions.Manual, "manual"}, {s.Compactions.Unknown, "of unknown cause"}, {s.Inherited, "inherited"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, ", ")
}
