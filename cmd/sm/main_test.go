package main

import (
	"flag"
	"os"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain puts sm into the PATH of the tests: this binary, which is the whole
// program when it is called so. Called by other names it is a variant of it, or what
// else a test needs as a process.
func TestMain(m *testing.M) {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "write the golden files in testdata anew")
	}
	testscript.Main(m, map[string]func(){"sm": program, "sm-unprivileged": unprivileged, quickName: quick, paneName: paneClient,
		runClientName: runStandIn, seatName: seatClient, heirName: heirClient, pluginClientName: pluginClient,
		asUserName: smAsUser, foreignServer: serveForeign})
}

// oneThread is a variable that keeps the work of a command on one thread: strace counts the calls of each by itself.
const oneThread = "ONE_THREAD"

// program is sm.
func program() {
	if os.Getenv(oneThread) != "" {
		runtime.LockOSThread()
	}
	main()
}
