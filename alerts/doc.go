// Package alerts decides which notices agents, their parents and the operator
// get about contexts. It is pure: it takes events with their times, and does no
// I/O.
//
// An [Engine] turns [Event] values into [Action] values. It alone decides about
// cycles, the periods of an agent between compactions, clears and handoffs. A
// notice that is sent once a cycle has a [Key] with the number of the cycle, so
// nothing has to be reset: a new cycle has new keys.
//
// Events may arrive late, twice, out of order or not at all. Each carries its
// own time, and the engine uses that time, not the order of arrival:
//
//   - A compaction has up to four signs: its boundary, and the hooks
//     SessionStart(compact), PostCompact and the event compaction_complete. The
//     first to arrive opens the cycle. Another sign belongs to the same
//     compaction if its stamp is not later than the first reading of the cycle,
//     or within Options.Settle of the opening; in the second case it must be of
//     another kind, without a PreCompact in between, and the context must not
//     have grown back. Two boundaries with different keys are two compactions.
//   - A context that has shrunk after a PreCompact opens an unconfirmed cycle
//     without a sign, at most three times an hour until a boundary arrives.
//   - Openings and readings from before the opening of the cycle are ignored. A
//     late reading from after the opening belongs to the new cycle, as do its
//     notices.
//   - The client may redraw a sample from before the opening: samples count as
//     old until a smaller one arrives.
//
// A storm is 3 automatic compactions in 30 minutes, or 2 within 5 turns. An
// episode causes one notice and ends with an automatic compaction that meets
// neither condition. No-data means that an agent is active, not known to be
// idle, and without a reading for 10 minutes; the episode ends with a reading
// or with the turn.
//
// Invariants: the same events yield the same decisions, live and in replay; a
// threshold is reached at its own value; each key is used once; a step causes at
// most one notice to an agent about its own context; an engine restored from its
// state continues unchanged.
//
// The transcript package counts tokens and compactions. Withdrawing a notice that
// was read has no effect.
package alerts
