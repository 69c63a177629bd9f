// Package notify passes notices to the operator.
package notify

// Notice is a text for the operator.
type Notice struct {
	Key  string // identifies the cause
	Text string
	Log  string // the text for the log, "" for Text: titles of sessions are not logged
}
