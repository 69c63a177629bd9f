package main

import (
	"flag"
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
	testscript.Main(m, map[string]func(){"sm": main, "sm-unprivileged": unprivileged, quickName: quick, paneName: paneClient,
		runClientName: runStandIn, seatName: seatClient, pluginClientName: pluginClient})
}
