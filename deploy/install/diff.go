package install

import (
	"bytes"

	"github.com/rogpeppe/go-internal/diff"
)

// unifiedDiff says how to get from one text to the other, as diff -u does; "" for equal texts.
func unifiedDiff(name, before, after string) string {
	_, text, _ := bytes.Cut(diff.Diff(name, []byte(before), name, []byte(after)), []byte("\n")) // without the command's name
	return string(text)
}
