package install

import (
	"bytes"

	"github.com/rogpeppe/go-internal/diff"
)

// unifiedDiff returns what diff -u prints, "" for equal texts.
func unifiedDiff(name string, before, after []byte) []byte {
	_, text, _ := bytes.Cut(diff.Diff(name, before, name, after), []byte("\n")) // without the command
	return text
}
