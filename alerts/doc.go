// Package alerts decides what is to be said about contexts: it is the policy, and
// pure. It takes values and the time at which they were true, and knows neither
// files nor clocks nor how a text reaches anyone.
//
// An [Engine] takes [Event] values and gives [Action] values. It alone decides
// of cycles: the stretches of an agent between compactions, clears and handoffs.
// What may be said once a cycle is said under a [Key] that holds the cycle's
// number; nothing is ever reset, a new cycle has new keys.
//
// Events may come late, doubled, out of order or not at all, so each carries the
// time at which it was true, and the engine goes by that and not by the order in
// which it is told:
//
//   - One compaction has up to four signs: its boundary, and the hooks
//     SessionStart(compact), PostCompact and the event compaction_complete. The
//     first to come opens the cycle. Another belongs to the same compaction when it
//     is stamped no later than the cycle's first reading, or within Options.Settle
//     of the opening; but then it must be of another kind, no PreCompact may stand
//     between, and the context must not have grown back. Two boundaries with
//     different keys are two compactions.
//   - Without any sign, a context that has shrunk after a PreCompact opens a cycle
//     too, unconfirmed until a boundary comes; three times an hour at most.
//   - An opening stamped before the cycle's own belongs to the past, and so does
//     a reading stamped before it. A reading stamped after an opening that arrives
//     only now belongs to the new cycle, with what was said because of it.
//   - A sample can be drawn anew from what the client knew before the opening: until
//     a smaller one comes it counts as old.
//
// A storm is 3 automatic compactions in 30 minutes, or 2 within 5 turns. It is
// told once an episode; the episode ends with an automatic compaction for which
// neither is true, and not by time alone. No-data is an agent that is active, and not
// known to be idle, without any reading for 10 minutes; the episode ends with a
// reading, or when the agent rests.
//
// Invariants: the same events give the same decisions, live and in replay; a
// threshold is reached at its own value, never below; each key is said once; a
// step adds at most one notice to what an agent hears of its own context; an engine
// that is restored from its state goes on as if nothing had happened.
//
// It does not count tokens or compactions: that is the transcript package's. It
// does not know whether a notice was heard: withdrawing one that was is harmless.
package alerts
