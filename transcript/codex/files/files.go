// Package files parses the names of Codex's transcripts:
// rollout-<time>-<thread>.jsonl, with another id at the end after a rewind of
// the thread, and the names of compressed ones.
//
// Invariants: names of another form belong to no thread. The package is pure
// and reads no file.
package files

import (
	"path/filepath"
	"strings"
)

// Client is the name of Codex in metrics and JSON.
const Client = "codex"

const (
	prefix, plain = "rollout-", ".jsonl"
	dateLength    = len("2026-11-22T00-23-17-")
	// Packed ends the name of a compressed transcript.
	Packed = ".jsonl.zst"
	// UUIDLength is the length of a thread's id.
	UUIDLength = len("01a200a2-c691-7de0-a325-4ece90591c2c")
)

// Thread returns the id of the thread in the name of its transcript; ok is
// false for other names. A later file of a rewound thread has two ids; the first
// one is the thread's.
func Thread(path string) (id string, ok bool) {
	name, ok := strings.CutPrefix(filepath.Base(path), prefix)
	if !ok {
		return "", false
	}
	if name, ok = strings.CutSuffix(name, plain); !ok {
		name, ok = strings.CutSuffix(name, Packed)
	}
	if !ok || len(name) < dateLength+UUIDLength || name[dateLength-1] != '-' {
		return "", false
	}
	id = name[dateLength : dateLength+UUIDLength]
	if rest := name[dateLength+UUIDLength:]; rest != "" && rest[0] != '_' {
		return "", false
	}
	return id, true
}
