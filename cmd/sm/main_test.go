package main

import (
	"encoding/json"
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

// TestMain adds sm to the PATH of the tests. It is this binary, which is the whole program
// under that name, and under other names a variant of it or another process for tests.
func TestMain(m *testing.M) {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "write the golden files in testdata anew")
	}
	if os.Getenv(raceVariable) == "" {
		_ = os.Setenv(raceVariable, raceOptions) // fails only for bad names
	}
	// Most tests wait for processes and hardly use a processor. A flag on the command line is
	// read later.
	_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	if filepath.Base(os.Args[0]) == install.SmallName { // not in the PATH, which has only sm
		os.Exit(hooks.Main(os.Args))
	}
	testscript.Main(m, map[string]func(){
		"sm": program, "sm-unprivileged": unprivileged, quickName: quick, paneName: paneClient,
		runClientName: runStandIn, seatName: seatClient, pluginClientName: pluginClient,
		asUserName: smAsUser, foreignServer: serveForeign,
	})
}

// quickRace keeps a process from sleeping for a second at its end, the default of the race
// detector. Processes that inherit the tests' environment have it from there; others get it
// by name.
const (
	raceVariable = "GORACE"
	raceOptions  = "atexit_sleep_ms=0"
	quickRace    = raceVariable + "=" + raceOptions
)

// oneThread is a variable that keeps a command on one thread: strace counts the calls of each
// thread separately.
const oneThread = "ONE_THREAD"

// program runs sm.
func program() {
	if os.Getenv(oneThread) != "" {
		runtime.LockOSThread()
	}
	main()
}

func noErrors(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	noErrors(t, err)
	return text
}

func readJSONFile(t *testing.T, path string, v any) {
	t.Helper()
	if err := json.Unmarshal(readFile(t, path), v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// writeFile writes a file, and makes the folders of its path.
func writeFile(t testing.TB, path string, content []byte) {
	t.Helper()
	noErrors(t, os.MkdirAll(filepath.Dir(path), 0o700))
	noErrors(t, os.WriteFile(path, content, 0o600))
}
