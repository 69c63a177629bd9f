// Package clientstest has the table of clients for tests.
package clientstest

import (
	"sm/transcript/claude"
	"sm/transcript/clients"
	"sm/transcript/codex"
)

// Table returns Codex and Claude Code, with the transcripts of Claude Code in
// dirs.
func Table(dirs ...string) clients.Table {
	return clients.Table{codex.New(nil), claude.Client(dirs...)}
}
