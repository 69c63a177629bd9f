// Package notify passes notices to the operator.
//
// A notifier is a value with one method. Those of the configuration are listed by
// cmd/sm, in settings.
package notify

import "context"

// Notice is a text for the operator.
type Notice struct {
	Key  string // the same for the same cause
	Text string
}

// Notifier passes a notice on and waits until that is done. When ctx ends, as with
// the observer, it has a second left.
type Notifier interface {
	Notify(ctx context.Context, n Notice) error
}
