// Package proc reads processes in /proc: name, parent, start time and so on.
//
// Pids are reused, so a process is identified by pid and start time together.
// Nothing here waits or signals. Without /proc, as on macOS, only whether a
// process runs is known.
package proc
