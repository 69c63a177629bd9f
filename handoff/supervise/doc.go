// Package supervise owns one client process: it starts it on the terminal that it has itself, waits for its end, and
// starts it again, in a fresh session and with another first prompt, when a handoff or a signal asks for that.
//
// The client stays in our process group. It was tried both ways: a client in a group of its own, put in front, leaves
// the shell hanging when it suspends itself, since it stops its group and nobody tells the shell; and it stops the
// other programs of a pipeline. In one group the terminal's signals and window sizes reach the client without us, the
// shell stops and continues both of us, and all that is left to do is not to die of a Ctrl-C.
//
// Invariants: only our own family is signalled, by handles that cannot mean another process, by one goroutine that has
// looked at start and parent with the handle in its hand. A restart is refused before anything is
// ended, when no restart is left, when the client's arguments do not allow one, or when the program is gone; a client
// that is not started again is never ended. A client that ends by itself is not started again, and neither is one whose
// user pressed Ctrl-C while it was being ended. The same rotation is carried out once. Nothing is written to the
// terminal while a client runs.
//
// What the client leaves behind is ended with it, on Linux: we adopt it, so that neither a group nor a session of its
// own hides it. Only what had left both the client's family and our process group before goes on, such as a tmux server
// that an agent has started: it would have gone on without us, too.
//
// The client's parent is a guardian, a process of ours in a group of its own, which adopts as we do. When we are killed,
// alone or with our whole group, it sees the end of its pipe, kills the client and ends all that has not left the family
// before, as we would have; when the guardian is killed, the kernel kills the client, and we end the rest and ourselves.
// Four things remain. A kill of both in the same instant leaves what the client had started. What has left the family
// since we looked last, up to ten seconds before, is ended though it might have been meant to stay. A process that hangs
// in the kernel for more than five seconds after its kill is left, and after a minute so is everything. And when the
// system begins its pids anew, one look through /proc can miss a process. A cgroup would be as
// good, but few systems let an ordinary user have one. Elsewhere than on Linux the client outlives a supervisor that is
// killed, and what a client leaves behind stays.
//
// It does not decide when a context is full, knows no observer's wire, keeps no state, and does not start a client again
// that has crashed. It collects every child of its process: a program that calls [Run] has no others meanwhile.
package supervise
