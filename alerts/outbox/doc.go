// Package outbox holds messages to agents until they are delivered or have
// ended otherwise. It is pure: it takes values and times, and does no I/O.
//
// A [Message] is a notice of the alerts package, which has a Key, or a send
// from an agent, a person or a reminder. Its states:
//
//	Put ─▶ Waiting ─ Offer ─▶ Offered ─ Confirm ─▶ Confirmed
//	          ▲                  │
//	          └─ Check, Unoffer ─┴─ Check ─▶ Unconfirmed
//
// Only the transcript of the agent proves a delivery; the success of a carrier
// does not. Each text ends with the id of the message, and [Queue.Confirm]
// searches for it. A message is offered again, under the same id, only if a
// transcript that was read far enough past the offer lacks it. Without a
// transcript a notice is offered once, and a send twice.
//
// Invariants:
//
//   - A key is accepted once, and so is a Ref for one agent, for as long as the message
//     is remembered: until Options.TTL after its end, or [Queue.Forget].
//   - Nothing is lost: a message that was accepted is Waiting or Offered, or
//     has ended in a final [State]. It ends once, counts once, and is never
//     offered again.
//   - A message older than Options.TTL is not offered.
//   - Equal calls return equal results, including ids. Results depend on the
//     messages only, so a queue that is restored from its messages behaves as
//     if it had not been restored.
//   - The order is that of Put, even if the clock is set.
//
// The package does not clean texts for a terminal, does not choose the carrier
// or the moment, and does not decide about notices, except that it refuses a
// known key.
package outbox
