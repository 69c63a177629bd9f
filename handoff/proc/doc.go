// Package proc reads processes in /proc: name, parent, start time and so on.
//
// Pids are reused, so a process is identified by pid and start time together.
// No function waits or signals. Without /proc, as on macOS, the package can
// only determine whether a process runs.
package proc
