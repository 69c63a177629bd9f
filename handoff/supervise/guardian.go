package supervise

import (
	"encoding/json"
	"errors"
	"os"
	"sync"
	"syscall"
)

// The guardian is a process between the supervisor and the client. It starts clients as their parent, collects the
// processes below it that end, and reports those of the client; the supervisor decides everything. If the supervisor is
// killed, the guardian ends the client and its descendants. It can find them because it is their subreaper: a process
// whose parent ends becomes a child of the guardian, not of process 1. It has its own process group, so that signals
// of the terminal and signals to the job do not reach it.

// A guardianOrder is a line to the guardian.
type guardianOrder struct {
	// With Argv the guardian starts a client, with Path as its program, in the process group
	// Group and with those of the first three files that are set in Files.
	Path  string
	Argv  []string
	Env   []string
	Files [3]bool
	Group int
	// Detached are processes not to be ended. Each list replaces the one before.
	Detached []Process
	Done     bool // nothing is left to end
}

// A guardianReport is a line from the guardian.
type guardianReport struct {
	Started Process            // the client that was asked for
	Errno   syscall.Errno      // or why it could not be started
	Ended   int                // the pid of a client that has stopped or ended
	Status  syscall.WaitStatus // of that client
}

// A guardian is our end of it.
type guardian struct {
	process *os.Process
	orders  *os.File
	reports chan guardianReport // closed when it has ended
	started chan guardianReport
	reading sync.WaitGroup
}

func (g *guardian) send(o guardianOrder) error {
	line, err := json.Marshal(o)
	if err == nil {
		_, err = g.orders.Write(append(line, '\n'))
	}
	return err
}

// start starts a client in our process group.
func (g *guardian) start(
	path string,
	argv, env []string,
	files [3]*os.File,
) (Process, error) {
	o := guardianOrder{
		Path:  path,
		Argv:  argv,
		Env:   env,
		Group: syscall.Getpgrp(),
	}
	for i, f := range files {
		o.Files[i] = f != nil
	}
	if err := g.send(o); err != nil {
		return Process{}, err
	}
	n, ok := <-g.started
	switch {
	case !ok:
		return Process{}, errors.New("its guardian has ended")
	case n.Errno != 0:
		return Process{}, n.Errno
	}
	return n.Started, nil
}

// close lets the guardian go, once nothing is left to end.
func (g *guardian) close() {
	_ = g.send(guardianOrder{Done: true}) // it may have ended
	_ = g.orders.Close()
	for range g.reports { // until it has ended
	}
	g.reading.Wait()
	_, _ = g.process.Wait() // others may have collected it
}
