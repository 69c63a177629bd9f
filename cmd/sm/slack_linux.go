package main

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"sm/cmd/internal/hooks"
)

// timerSlack is how late, in nanoseconds, the timers of an observer may be: a hundredth of what anybody waits for.
const timerSlack = 1_000_000

// startedAnew is a variable that says so to the program, which forgets it: a system that gave each program exact timers must
// not have it start for ever.
const startedAnew = "SM_STARTED_ANEW"

// letTimersBeLate starts the program once more, as the same process, with timers that may be late, unless they are so
// already or must be exact. The monitor thread of the Go runtime sleeps 20 µs at a time while anything runs: exactly so it
// takes a twelfth of all that a busy observer takes. A thread has the slack of the one that made it, and that one is made
// before the first line of ours runs. Where anything fails all is as without it. See PR_SET_TIMERSLACK in prctl(2).
func letTimersBeLate() {
	if _, anew := os.LookupEnv(startedAnew); anew {
		_ = os.Unsetenv(startedAnew) // fails for bad names only
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil || now <= 0 || now >= timerSlack {
		return
	}
	p := hooks.Process{Executable: os.Executable, CalledAs: os.Args[0]}
	path, err := p.Program() // lists of processes show its name
	if err != nil || unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0) != nil {
		return
	}
	_ = syscall.Exec(path, os.Args, append(os.Environ(), startedAnew+"=1")) // does not return where it succeeds
}
