package main

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"sm/cmd/internal/hooks"
	"sm/deploy/install"
)

// TestMain puts sm into the PATH of the tests: this binary, which is the whole
// program when it is called so. Called by other names it is a variant of it, or what
// else a test needs as a process.
func TestMain(m *testing.M) {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "write the golden files in testdata anew")
	}
	if os.Getenv(raceVariable) == "" {
		_ = os.Setenv(raceVariable, raceOptions) // fails for bad names only
	}
	// Most tests wait for processes, and hardly use a processor themselves. A
	// flag on the command line is read later.
	_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	if filepath.Base(os.Args[0]) == install.SmallName { // not in the PATH: sm is alone there
		os.Exit(hooks.Main(os.Args))
	}
	testscript.Main(m, map[string]func(){
		"sm": program, "sm-unprivileged": unprivileged, quickName: quick, paneName: paneClient,
		runClientName: runStandIn, seatName: seatClient, pluginClientName: pluginClient,
		asUserName: smAsUser, foreignServer: serveForeign,
	})
}

// quickRace keeps a process from a second of sleep at its end, which is the
// default under the race detector. Processes that inherit the tests'
// environment have it from there; others get it by name.
const (
	raceVariable = "GORACE"
	raceOptions  = "atexit_sleep_ms=0"
	quickRace    = raceVariable + "=" + raceOptions
)

// oneThread is a variable that keeps the work of a command on one thread:
// strace counts the calls of each by itself.
const oneThread = "ONE_THREAD"

// program is sm.
func program() {
	if os.Getenv(oneThread) != "" {
		runtime.LockOSThread()
	}
	main()
}
