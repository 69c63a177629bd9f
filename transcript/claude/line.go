package claude

import (
	"time"

	"sm/transcript"
)

// far is the largest insignificant disorder of the stamps in a file: the lines
// of parallel calls are slightly out of order.
const far = transcript.Instant(30 * time.Second)

// line decides whether the order of a file is the order of events. It is,
// except in the file of a fork, which has the fork's own first records before
// the older ones that it copies. The first record of such a file shows this:
// its parent is not in the file.
type line struct {
	begun   bool
	torn    bool               // the first record continues another
	head    transcript.Instant // stamp of the first record while copies may follow, else 0
	copying bool               // the copies have begun
}

// rules reports whether the position of a record in the file counts more than a
// stamp that is far from its neighbours. It is true only for readings and
// compactions: a user's input may be written later.
func (l *line) rules(e *transcript.Entry) bool {
	if !l.begun && e.UUID != 0 &&
		(e.Kind == transcript.KindReading || e.Kind == transcript.KindTurnStart ||
			e.Kind == transcript.KindAside) {
		l.begun = true
		if l.torn = e.Parent != 0; l.torn {
			l.head = e.At
		}
	}
	if l.head != 0 && e.At != 0 {
		if e.At < l.head {
			l.copying = true
		} else if l.copying {
			l.head = 0 // the fork's own records continue
		}
	}
	return l.head == 0 &&
		(e.Kind == transcript.KindReading || e.Kind == transcript.KindBoundary ||
			e.Kind == transcript.KindSummary)
}
