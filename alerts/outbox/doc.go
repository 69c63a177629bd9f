// Package outbox holds the messages to agents, from when they are accepted until it
// is known what became of them. It is pure: it takes values and the time, and knows
// neither carriers nor transcripts nor files.
//
// A [Message] is a notice of the alerts package, which has a Key, or a send: what an
// agent, a person or a reminder has to say. Its life:
//
//	Put ─▶ Waiting ─ Offer ─▶ Offered ─ Heard ─▶ Confirmed
//	          ▲                  │
//	          └─ Check, Unoffer ─┴─ Check ─▶ Unconfirmed
//
// What a carrier says about its success is no proof, what the agent's transcript
// shows is: each text that goes out ends with the message's id, and [Queue.Heard]
// looks for it. A message is offered again, under the same id, only when a transcript
// that was read far enough past the offer lacks it. Without any transcript a notice is
// offered once, and a send twice.
//
// Invariants:
//
//   - A key is accepted once, and so is a Ref for one agent, for as long as the message
//     is remembered: until Options.TTL after its end, or [Queue.Forget].
//   - Nothing is lost: a message that was accepted is Waiting or Offered, or has ended
//     in one of [Outcomes]. It ends once, counts once, and is never offered again.
//   - What is older than Options.TTL is not offered.
//   - The same calls give the same answers, ids among them. They depend on the messages
//     alone, so that a queue that is restored from its messages goes on as if nothing
//     had happened; only what is on hold must be told again.
//   - The order is that of Put, whatever the clock does. When [Queue.Check] finds the
//     clock set back, what was stamped later than now counts as stamped now.
//
// It does not clean texts for a terminal, does not choose the carrier or the moment,
// and does not decide what is said: it refuses a known key, and that is all.
package outbox
