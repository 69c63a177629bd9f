// Package proc reads what the system says of a process in /proc: its name, its parent, and when it began.
//
// Invariants: a process is known by its number and its beginning together, for numbers are used again. Nothing here
// waits, and nothing is sent to a process. Where there is no /proc, as on macOS, it knows only whether a process runs.
//
// It does not decide which process is a client, except for the shells between a client and its commands.
package proc
