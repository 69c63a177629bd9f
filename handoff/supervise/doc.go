// Package supervise owns one client process: it starts it on the terminal that it has itself, waits for its end, and
// starts it again, in a fresh session and with another first prompt, when a handoff or a signal asks for that.
//
// The client stays in our process group. It was tried both ways: a client in a group of its own, put in front, leaves
// the shell hanging when it suspends itself, since it stops its group and nobody tells the shell; and it stops the
// other programs of a pipeline. In one group the terminal's signals and window sizes reach the client without us, the
// shell stops and continues both of us, and all that is left to do is not to die of a Ctrl-C.
//
// Invariants: only our own children are signalled, by handles that cannot mean another process, and by the one
// goroutine that also collects them: no pid is free to be used again before. A restart is refused before anything is
// ended, when no restart is left, when the client's arguments do not allow one, or when the program is gone; a client
// that is not started again is never ended. A client that ends by itself is not started again, and neither is one whose
// user pressed Ctrl-C while it was being ended. The same rotation is carried out once. Nothing is written to the
// terminal while a client runs.
//
// What the client leaves behind is ended with it, on Linux: we adopt it, so that neither a group nor a session of its
// own hides it. Only what had left both the client's family and our process group before goes on, such as a tmux server
// that an agent has started: it would have gone on without us, too. When we are killed, the kernel kills the client;
// what it had started by then is left to see the end of its input. Elsewhere than on Linux the client outlives a
// supervisor that is killed, and what a client leaves behind stays.
//
// It does not judge when a context is full, knows no observer's wire, keeps no state, and does not start a client again
// that has crashed. It collects every child of its process: a program that calls [Run] has no others meanwhile.
package supervise
