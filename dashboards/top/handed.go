package top

import (
	"slices"
	"strings"
	"time"

	"sm/dashboards/screen"
	"sm/handoff"
	"sm/observer/api"
)

// handed holds an agent's handoffs and handoff documents, the newest first.
type handed struct {
	Handoffs  []api.Handoff
	Documents []handoff.Document
}

// handedOf returns the handoffs of an agent, and the documents that it has
// written or received.
func handedOf(agent string, handoffs []api.Handoff, documents []handoff.Document) *handed {
	handoffs = slices.DeleteFunc(
		handoffs,
		func(x api.Handoff) bool { return x.Agent != agent },
	)
	documents = slices.DeleteFunc(
		documents,
		func(x handoff.Document) bool { return x.Agent != agent && x.ClaimedBy != agent },
	)
	slices.Reverse(handoffs)
	slices.SortStableFunc(
		documents,
		func(a, b handoff.Document) int { return b.CreatedAt.Compare(a.CreatedAt) },
	)
	return &handed{handoffs, documents}
}

const handedText = `{{define "path"}}{{range .}}{{dim "            " .}}
{{end}}{{end}}

{{define "handed"}}{{$width := .Width}}{{range .Handoffs}}{{dim (printf "  %-10s" (ago .ChangedAt))}}
{{- if eq .State "failed"}}{{red (text (print .State ": " .Reason))}}
{{- else if .Waiting}}{{yellow (text (print .State ", waiting: " .Waiting))}}
{{- else}}{{text .State}}{{end}}
{{template "path" wrap (text (or .Path "made from the transcript")) $width}}
{{- else}}  no handoff of the last day
{{end}}
{{range .Documents}}{{dim (printf "  %-10s" (ago .CreatedAt))}}
{{- text (printf "document %s, %s, %s" .ID .Type .Status)}}
{{template "path" wrap (text (or .File .Path)) $width}}
{{- else}}  no handoff document
{{end}}{{end}}`

func (h *handed) lines(now time.Time, width int) []string {
	data := struct {
		*handed
		Width int
	}{h, width - 12}
	text := screen.Execute(templates(handedText, now), "handed", data)
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
