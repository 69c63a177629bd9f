package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen"
	"sm/dashboards/top"
	"sm/observer/api"
)

// writeSessions prints sessions as a table: whose context is how full, and how often each was compacted.
func writeSessions(w io.Writer, sessions []api.Session, now time.Time, colour bool) error {
	t := term.Table{Headers: []string{"PROJECT", "SESSION", "MODEL", "CONTEXT", " USED", " TOKENS", "COMPACTIONS", "LAST ACTIVITY"}, Colour: colour}
	rotates := slices.ContainsFunc(sessions, func(s api.Session) bool { return s.Handoff != "" || s.Brake != "" })
	if rotates {
		t.Headers = append(t.Headers, "HANDOFF")
	}
	for _, s := range sessions {
		if s.State == "left" {
			continue // its agent has gone on to another session, which stands here
		}
		context, used, tokens := contextCells(s)
		cells := []term.Cell{term.Text(screen.FitEnd(s.Project, 24), ""), term.Text(screen.FitEnd(s.ShortName(), 20), ""), term.Text(screen.FitEnd(strings.TrimPrefix(s.Model, "claude-"), 20), screen.Dim),
			context, used, tokens, term.Text(top.Compactions(s), ""), term.Text(screen.Ago(s.LastActive, now), screen.Dim)}
		if rotates {
			cells = append(cells, handoffCell(s))
		}
		t.Add(cells...)
	}
	return t.Write(w)
}

func contextCells(s api.Session) (context, used, tokens term.Cell) {
	if s.TokensUsed == nil || s.UsedPercentage == nil {
		return term.Text(screen.Bar(0), screen.Dim), term.Text("–", screen.Dim), term.Text("– / "+screen.Tokens(s.WindowTokens), screen.Dim)
	}
	colour := map[string]string{"early_warn": screen.Yellow, "warn": screen.Orange, "critical": screen.Red}[s.Level]
	return term.Text(screen.Bar(*s.UsedPercentage), colour), term.Text(fmt.Sprintf("%d%%", *s.UsedPercentage), colour),
		term.Text(screen.Tokens(*s.TokensUsed)+" / "+screen.Tokens(s.WindowTokens), "")
}

// handoffCell is how far a handoff is, or what keeps the agent from one.
func handoffCell(s api.Session) term.Cell {
	if s.Brake != "" {
		return term.Text(strings.TrimSpace(s.Handoff+" "+s.Brake), screen.Orange)
	}
	return term.Text(s.Handoff, "")
}
