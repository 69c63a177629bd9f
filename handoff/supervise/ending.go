package supervise

import (
	"syscall"
	"time"

	"sm/handoff/proc"
)

// Most processes that a client leaves behind end when their input ends. The
// others get SIGTERM, then SIGKILL. A process that hangs in the kernel for
// orphanLeft after its kill is left. On a busy machine seconds may pass between
// a kill and its effect, therefore orphanTimeout.
const (
	orphanTerm    = 200 * time.Millisecond
	orphanKill    = 1200 * time.Millisecond
	orphanLeft    = 5 * time.Second
	orphanTimeout = time.Minute
	orphanLook    = 20 * time.Millisecond
)

// An ending ends processes with increasingly strong signals.
type ending struct {
	began time.Time
	asked map[Process]bool
}

// look sends the signals that are due to the remaining processes. over means
// that nothing more can be done.
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
		// No signal reaches a process that sleeps in the kernel.
		over = over && c.State == "D" && late > orphanKill+orphanLeft
	}
	return over || late > orphanTimeout
}
