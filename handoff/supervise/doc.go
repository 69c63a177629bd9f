// Package supervise owns one client process: it starts the client on its own
// terminal, waits for its end, and starts it again in a fresh session with
// another first prompt when a handoff or a signal asks for that.
//
// The client is in the process group of the job. In a group of its own, put in
// the foreground, it leaves the shell hanging when it suspends itself, since it
// stops only its own group, and it stops the other programs of a pipeline. In
// one group the terminal's signals and window sizes reach the client directly,
// the shell stops and continues both, and we only have to survive Ctrl-C.
//
// Invariants:
//
//   - Only our own descendants are signalled, by handles that cannot mean another process,
//     after start and parent were checked with the handle open.
//   - A restart is refused before anything is ended: when no restart is left, when the
//     arguments do not allow one, or when the program is gone.
//   - A client that ends by itself is not started again, nor one whose user pressed Ctrl-C
//     while it was being ended.
//   - A rotation is carried out once.
//   - Nothing is written to the terminal while a client runs.
//
// On Linux what the client leaves behind is ended with it: we adopt it, so that
// neither a process group nor a session of its own hides it. Only what had left
// both the client's descendants and the job's process group before continues,
// such as a tmux server that an agent has started: it would have continued
// without us, too.
//
// The client's parent, which calls [Run], is a guardian: [Guard] has started it
// from the process that the shell waits for. While a client runs it is in a
// process group of its own. When the process above it is killed, alone or with
// the job, the kernel signals the guardian, which kills the client and ends the
// rest. When the guardian is killed, the kernel kills the client, and Guard
// ends the rest. What remains:
//
//   - A kill of both in the same instant leaves what the client had started.
//   - What has left the client's descendants since the last look, up to ten seconds ago, is
//     ended although it might have been meant to stay.
//   - A process that hangs in the kernel for five seconds after its kill is left, and after a
//     minute so is everything.
//   - When the system's pids wrap around, one look through /proc can miss a process.
//
// A cgroup would do as well, but few systems give one to an ordinary user. On
// other systems the client outlives a killed supervisor, and what a client
// leaves behind stays.
//
// Package supervise does not decide when a context is full, keeps no state and
// does not restart a crashed client. It collects every child of its process: a
// program that calls [Run] must have no others meanwhile.
package supervise
