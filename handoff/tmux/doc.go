// Package tmux types text into panes. It is the only caller of the tmux command.
//
// A [Server] communicates with any tmux server, by the path of its socket. It
// types one line into the input box of Claude Code or Codex CLI and presses
// Enter.
//
// A pane is identified by its id and the server's pid, never by a session's name,
// which tmux matches by prefix. Ids are reused after a restart of the server, and
// another program can run in the pane, so each use verifies the client as well:
// its pid and start time, its descent from the pane's process, its terminal, and
// that it is in the foreground there.
//
// Invariants:
//
//   - No text is an argument of tmux or part of a command or format; only
//     checked ids and numbers are. Text is sent through a private buffer, on
//     stdin, in one bracketed paste. [Sanitise] would not change it. No buffer
//     remains.
//   - Text is pasted only into an empty input box that has the terminal's cursor.
//   - Enter is pressed only when the box holds exactly that text and has the cursor.
//   - Check and act are one tmux command, so that no pane can be swapped, end
//     or enter a mode between them. Conditions that are invisible to tmux are
//     checked when that command already waits: the client is in the foreground,
//     is not exiting and has its terminal in raw mode. A client that is ending
//     may still show its empty box, although the shell behind it would read the
//     text.
//   - A pasted text that cannot be submitted is removed from the place that it
//     has reached: the kernel's input queue, the client's box or the shell's
//     line.
//   - One text at a time is typed into a pane.
//   - A wrong guess about the screen can only refuse.
//
// A gap of well under a millisecond remains: a client can be killed between the
// last check and the paste. Then the text is on the shell's line until it is
// removed some tens of milliseconds later. It stays there if the shell shows
// its prompt only after five seconds, has no line editor, or a person has used
// the pane meanwhile. Enter is never pressed there.
//
// An empty box does not mean that the agent is idle, and nil from [Server.Type]
// only means that the right client got Enter. Package tmux starts no tmux
// server, sends no keys but Enter, Ctrl-U and the terminal's kill character,
// does not touch the drafts, dialogs and modes of others, and signals no
// process. Without /proc it cannot verify a client and refuses.
package tmux
