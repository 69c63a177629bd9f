// Package clientstest has the table of clients for tests.
package clientstest

import (
	"sm/transcript/claude"
	"sm/transcript/clients"
	"sm/transcript/codex"
)

// Table lists Codex and Claude Code, with transcripts of Claude Code in these folders.
func Table(dirs ...string) clients.Table {
	return clients.Table{codex.New(nil), claude.Client(dirs...)}
}
