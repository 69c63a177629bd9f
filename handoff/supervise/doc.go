// Package supervise owns one client process: it starts the client on its own
// terminal, waits for its end, and starts it again in a fresh session with
// another first prompt when a handoff or a signal asks for that.
//
// The client is in the process group of the job. In a foreground group of its
// own it would leave the shell hanging when it suspends itself, because it
// stops only its own group, and it would stop the other programs of a pipeline.
// In one group the terminal's signals and window sizes reach the client
// directly, the shell stops and continues both, and we only have to survive
// Ctrl-C.
//
// Invariants:
//
//   - Only our own descendants are signalled, by handles that cannot refer to
//     another process: start time and parent are checked after the handle was
//     opened.
//   - A restart is refused before anything is ended: if no restart is left, if
//     the arguments do not permit one, or if the program no longer exists.
//   - A client that ends by itself is not started again, nor is a client whose
//     user pressed Ctrl-C while it was being ended.
//   - A rotation is carried out once.
//   - Nothing is written to the terminal while a client runs.
//
// On Linux the processes that the client leaves behind are ended with it: we
// adopt them, so that neither a process group nor a session of their own hides
// them. Only processes that had left both the client's descendants and the
// job's process group before continue, such as a tmux server that an agent has
// started: they would have continued without us, too.
//
// The client's parent, which calls [Run], is a guardian: [Guard] has started it
// from the process that the shell waits for. While a client runs it is in a
// process group of its own. When the process above it is killed, alone or with
// the job, the kernel signals the guardian, which kills the client and ends the
// rest. When the guardian is killed, the kernel kills the client, and Guard
// ends the rest. What remains:
//
//   - If both are killed at the same instant, the processes that the client has
//     started stay.
//   - Processes that have left the client's descendants since the last check,
//     up to ten seconds ago, are ended although they may have been meant to
//     stay.
//   - A process that hangs in the kernel for five seconds after its kill is
//     left, and after a minute so are all others.
//   - When the system's pids wrap around, a single pass through /proc can miss
//     a process.
//
// A cgroup would serve as well, but few systems give one to an ordinary user.
// On other systems the client outlives a killed supervisor, and the processes
// that a client leaves behind stay.
//
// Package supervise does not decide when a context is full, keeps no state and
// does not restart a crashed client. It collects every child of its process: a
// program that calls [Run] must have no others meanwhile.
package supervise
