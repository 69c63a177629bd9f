package transcripttest

import (
	"slices"
	"strconv"
	"strings"
)

// Era is a span of client versions that write alike.
type Era uint8

// The eras, oldest first. Bare records name no client at all, as design texts show
// them: {"type":"assistant","message":{"usage":{…}}}.
const (
	Bare Era = iota
	Era100
	Era113
	Era20
	Era21
	Era197
	Era270
)

// Eras lists all of them.
func Eras() []Era { return []Era{Bare, Era100, Era113, Era20, Era21, Era197, Era270} }

// String names the span.
func (e Era) String() string {
	return [...]string{"bare", "1.0.17-1.0.112", "1.0.113-1.0.128", "2.0", "2.1.0-2.1.97", "2.1.98-2.1.197", "2.1.198-2.1.270"}[e]
}

// Versions are the client versions that a session of the era may name.
func (e Era) Versions() []string {
	return [...][]string{
		Bare:   {""},
		Era100: {"1.0.17", "1.0.38", "1.0.67", "1.0.112"},
		Era113: {"1.0.113", "1.0.120", "1.0.128"},
		Era20:  {"2.0.9", "2.0.20", "2.0.51", "2.0.76"},
		Era21:  {"2.1.7", "2.1.17", "2.1.44", "2.1.63", "2.1.80", "2.1.97"},
		Era197: {"2.1.123", "2.1.168", "2.1.197"},
		Era270: {"2.1.226", "2.1.270"},
	}[e]
}

// Trigger is what set a compaction off.
type Trigger uint8

// The triggers; clients that write no boundary do not say.
const (
	UnknownTrigger Trigger = iota
	Auto
	Manual
)

// String is the trigger as the client writes it.
func (t Trigger) String() string { return triggers()[t] }

func triggers() []string { return []string{"unknown", "auto", "manual"} }

// triggerOf is the trigger that a client writes so, unknown for any other word.
func triggerOf(name string) Trigger { return Trigger(max(0, slices.Index(triggers(), name))) }

// client is a version of the program that writes transcripts. Its methods say what
// that version does; the bounds are the first and last versions seen to do so.
type client struct {
	version string
	number  int // 2.1.44 as 2001044; 0 for a bare one
}

func clientOf(version string) client {
	n := 0
	for part := range strings.SplitSeq(version, ".") {
		i, _ := strconv.Atoi(part)
		n = n*1000 + i
	}
	return client{version, n}
}

func (c client) bare() bool { return c.number == 0 }

// in reports whether the version lies in a span; a last of 0 leaves it open.
func (c client) in(first, last int) bool {
	return !c.bare() && c.number >= first && (last == 0 || c.number <= last)
}

// trailing: the envelope of a record stands behind its body, not before it.
func (c client) trailing() bool { return c.in(2_001_091, 0) }

// boundaries: a compaction is a boundary and a summary, not a summary alone.
func (c client) boundaries() bool { return c.in(1_000_113, 0) }

// richMetadata: a boundary tells more than trigger and preTokens.
func (c client) richMetadata() bool { return c.in(2_001_150, 0) }

// partial: the earlier lines of a message carry the output counted so far.
func (c client) partial() bool { return c.in(0, 2_001_097) }

// stops: lines tell why the message ended.
func (c client) stops() bool { return c.in(2_001_090, 0) }

func (c client) branch() bool     { return c.in(1_000_060, 0) }
func (c client) slug() bool       { return c.in(2_000_051, 0) }
func (c client) thinking() bool   { return c.in(1_000_113, 2_001_090) }
func (c client) snapshots() bool  { return c.in(2_000_000, 0) }
func (c client) nested() bool     { return c.in(2_000_000, 0) }
func (c client) details() bool    { return c.in(2_001_040, 0) }
func (c client) modelFirst() bool { return c.in(2_000_000, 0) }
func (c client) permission() bool { return c.in(2_001_040, 0) }
func (c client) origins() bool    { return c.in(2_001_150, 0) }

func (c client) queue() bool        { return c.in(2_000_051, 0) }
func (c client) progress() bool     { return c.in(2_001_007, 2_001_081) }
func (c client) attachments() bool  { return c.in(2_001_091, 0) }
func (c client) turnDuration() bool { return c.in(2_001_001, 0) }
func (c client) microcompact() bool { return c.in(2_001_009, 2_001_022) }
func (c client) lastPrompt() bool   { return c.in(2_001_079, 0) }
func (c client) modes() bool        { return c.in(2_001_150, 0) }
func (c client) latch() bool        { return c.in(2_001_270, 0) }

// Titles were summary records, first at the head of a file, then at its end; later
// ones have types of their own.
func (c client) titlesFirst() bool { return c.in(0, 2_000_010) }
func (c client) titlesLast() bool  { return c.in(2_001_011, 2_001_022) }
func (c client) customTitle() bool { return c.in(2_001_078, 0) }
func (c client) aiTitle() bool     { return c.in(2_001_123, 0) }

// Subagents wrote into the session's file, then into files beside it, then into a
// folder of the session.
func (c client) inline() bool   { return c.in(0, 2_000_027) }
func (c client) siblings() bool { return c.in(2_000_028, 2_001_001) }
func (c client) folder() bool   { return c.in(2_001_002, 0) }

// sameFileClear: /clear begins another session in the same file.
func (c client) sameFileClear() bool { return c.in(0, 1_000_060) }

// continues: an automatic compaction may go on in a new file that begins with the
// summary.
func (c client) continues() bool { return c.in(0, 1_000_112) || c.in(2_001_226, 0) }

// newFirst: a fork's file holds its own first records before those it copies.
func (c client) newFirst() bool { return c.in(2_001_197, 2_001_225) }
