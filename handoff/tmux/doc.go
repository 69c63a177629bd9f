// Package tmux types into panes, and is the only caller of the tmux command.
//
// A [Server] talks to any tmux server by the path of its socket. It verifies that a pane is
// still that of a given client, types one line of text into the input box of Claude Code, or
// of Codex CLI, and presses Enter.
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
// terminal's cursor. Enter is a key of its own, and is pressed only once the box shows
// exactly the text that was pasted, now or by an attempt that was cut off, and has the
// cursor. The check and the act are one command to tmux, so that between them no pane can
// be swapped, die or enter a mode. What tmux cannot see is asked right before, when the
// command is already waiting in tmux for its go-ahead: that the client is in front, is not
// in exit, and has its terminal in raw mode. A client that is ending has none of these,
// but may still show its empty box, and what is typed then is the shell's behind it.
// A text that was pasted and cannot be submitted is taken back, from wherever it is by
// then: unread in the kernel, in the client's box, or on the shell's line.
// No buffer stays behind. One text at a time is typed into a pane. A wrong guess about the
// screen can only ever refuse.
//
// What remains: a client can end, or be killed, between the last answer and the paste, well
// under a millisecond. Then the text is on the shell's line until it is taken back, some
// tens of milliseconds later, or stays there if the shell shows its prompt only after
// Options.Echo, has no line editor, or a human has used the pane meanwhile. No Enter follows.
//
// It does not know whether an agent is idle: an empty input box shows while the agent
// works, too. It does not know whether a text was heard either: nil from [Server.Type]
// says that Enter went to the client that was meant, no more. It starts no tmux server,
// sends no keys other than Enter, Ctrl-U and the terminal's kill character, leaves drafts of
// others, dialogs and modes as they are, and signals no process. Where there is no /proc it cannot verify a client, and refuses.
package tmux
