package claude

import (
	"time"

	"sm/transcript"
)

// far is by how much stamps may be out of order in a file without saying anything: the
// lines of parallel calls are, by moments.
const far = transcript.Instant(30 * time.Second)

// line decides whether the order of a file is the order of events. It is, except
// in the file of a fork, which has the fork's own first records before the older
// ones that it copies. The first record shows it: its parent is not in the file.
type line struct {
	begun   bool
	torn    bool               // the first record goes on from another
	head    transcript.Instant // the stamp of the first record while copies are to come, else 0
	copying bool               // they have begun
}

// rules reports whether a record's place in the file counts more than a stamp that is far
// from its neighbours. Only readings and compactions ask: what users typed may be
// written down later.
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
			l.head = 0 // the fork goes on
		}
	}
	return l.head == 0 &&
		(e.Kind == transcript.KindReading || e.Kind == transcript.KindBoundary ||
			e.Kind == transcript.KindSummary)
}
