// Package tmux types into panes, and is the only caller of the tmux command.
//
// A [Server] talks to any tmux server by the path of its socket. It finds panes and
// says what is true of them, verifies that a pane is still that of a given client, and
// types one line of text into the input box of Claude Code and presses Enter.
//
// What tells a pane is its id with the server's pid, never a session's name, which tmux
// matches by prefix. An id can be used again after a restart of the server, and another
// program can run in a pane, so every use verifies the client too: by its pid and start
// time, that it descends from the pane's process, that the pane's terminal is its own,
// and that it stands in front there.
//
// Invariants: no text is ever an argument of tmux or part of a command or format, only
// ids and numbers that have been checked are; text goes through a private buffer, on
// stdin, into one bracketed paste; what is pasted is what [Sanitise] leaves unchanged.
// Nothing is pasted unless the client's input box is on the screen, empty, and has the
// cursor. Enter is a key of its own, and is pressed only once the box shows exactly the
// text that was pasted, now or by an attempt that was cut off. The check and the act are
// one command to tmux, so that between them no pane can be swapped, die or enter a mode.
// No buffer stays behind, unless the process is killed between loading and pasting one:
// then a buffer sm-… does. One text at a time is typed into a pane. A wrong guess about
// the screen can only ever refuse.
//
// It does not know whether an agent is idle: an empty input box shows while the agent
// works, too. It does not know whether a text was heard either: nil from [Server.Type]
// says that Enter went to the client that was meant, no more. It starts no tmux server,
// sends no key other than Enter, leaves drafts, dialogs and modes as they are, and
// signals no process. Where there is no /proc it cannot verify a client, and refuses.
package tmux
