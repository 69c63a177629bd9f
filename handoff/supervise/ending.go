package supervise

import (
	"syscall"
	"time"

	"sm/handoff/proc"
)

// Most processes that a client leaves behind end at the end of their input. The others get
// SIGTERM, then SIGKILL. One that hangs in the kernel orphanLeft after the kills is left.
// On a busy machine seconds may pass between a kill and its effect: hence orphanTimeout.
const (
	orphanTerm    = 200 * time.Millisecond
	orphanKill    = 1200 * time.Millisecond
	orphanLeft    = 5 * time.Second
	orphanTimeout = time.Minute
	orphanLook    = 20 * time.Millisecond
)

// An ending ends processes, the longer it takes the harder.
type ending struct {
	began time.Time
	asked map[Process]bool
}

// look sends the signals that are due to the remaining processes; over means that nothing more
// can be done.
func (e *ending) look(now time.Time, left []proc.Process) (over bool) {
	late := now.Sub(e.began)
	over = true
	for _, c := range left {
		switch {
		case late > orphanKill:
			send(c, syscall.SIGKILL)
		case late > orphanTerm && !e.asked[identity(c)]:
			send(c, syscall.SIGTERM)
			send(c, syscall.SIGCONT)
			e.asked[identity(c)] = true
		}
		// One that sleeps in the kernel is reached by no signal.
		over = over && c.State == "D" && late > orphanKill+orphanLeft
	}
	return over || late > orphanTimeout
}
