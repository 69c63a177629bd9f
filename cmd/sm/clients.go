package main

import (
	"slices"

	"sm/handoff/codexcli"
	"sm/handoff/supervise"
	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/clients"
	"sm/transcript/codex"
)

// clientTable returns all clients. A new client goes before the last entry,
// which gets the transcripts that no other client claims. held finds the
// process that has a thread of Codex open; it is nil if that cannot be found or
// is not needed.
func clientTable(
	held func(path string) (transcript.Holder, bool),
	claudeDirs, codexDirs []string,
) clients.Table {
	table := clients.Table{
		codex.New(held, codexDirs...),
		claude.Client(claudeDirs...),
	}
	table[0].Starts = codexcli.Arguments().Starts
	table[0].Again = codexcli.Arguments().Again
	table[1].Again = supervise.Claude().Again
	return table
}

// clientNames returns the names of all clients, the default first.
func clientNames() (names []string) {
	for _, c := range slices.Backward(clientTable(nil, nil, nil)) {
		names = append(names, c.Client)
	}
	return names
}
