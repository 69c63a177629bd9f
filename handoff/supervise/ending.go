package supervise

import (
	"syscall"
	"time"
)

// What the client has left behind has nobody to work for any more. Most of it ends when it sees that its input has
// ended; the rest is asked to, then killed. What a kill does not end within orphanLeft hangs in the kernel, and is left
// there. What the kernel would end but has not found the time for is waited for, but at most for orphanTimeout: on a busy
// machine some seconds may pass between two looks, or between a kill and its effect.
const (
	orphanTerm    = 200 * time.Millisecond
	orphanKill    = 1200 * time.Millisecond
	orphanLeft    = 5 * time.Second
	orphanTimeout = time.Minute
	orphanLook    = 20 * time.Millisecond
)

// An ending ends processes, the longer it takes the harder.
type ending struct {
	began  time.Time
	asked  map[Process]bool
	killed map[Process]time.Time // when it was killed first
}

func newEnding(now time.Time) *ending {
	return &ending{began: now, asked: map[Process]bool{}, killed: map[Process]time.Time{}}
}

// look does what is due to those that are left; over says that nothing more can be done. The process client, 0 for
// none, is killed at once: it may hang.
func (e *ending) look(now time.Time, left []child, client int) (over bool) {
	late, over := now.Sub(e.began), true
	for _, c := range left {
		switch {
		case c.PID == client || late > orphanKill:
			if _, known := e.killed[c.Process]; !known {
				e.killed[c.Process] = now
			}
			c.signal(syscall.SIGKILL)
		case late > orphanTerm && !e.asked[c.Process]:
			c.signal(syscall.SIGTERM)
			c.signal(syscall.SIGCONT)
			e.asked[c.Process] = true
		}
		at, killed := e.killed[c.Process]
		over = over && killed && c.hangs && now.Sub(at) > orphanLeft
	}
	return over || late > orphanTimeout
}
