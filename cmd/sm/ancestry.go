package main

import (
	"sm/handoff/proc"
	"sm/observer/fleet"
)

// ancestry is the lineage of a process as the observer takes it.
func ancestry(pid int) (line []fleet.Process) {
	for p := range proc.Lineage("/proc", pid) {
		line = append(line, fleet.Process{PID: p.PID, Start: p.Start})
	}
	return line
}
