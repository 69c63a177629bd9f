package hooks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sm/cmd/internal/version"
)

// wholeProgram is the name of the full program, which is in the same directory.
const wholeProgram = "sm"

// Main runs the small program and returns the exit code.
func Main(args []string) int {
	called := wholeProgram // the name for sm in the same directory
	if strings.Contains(args[0], "/") {
		called = filepath.Join(filepath.Dir(args[0]), wholeProgram)
	}
	p := Self(beside, called)
	switch {
	case p.Run(context.Background(), args[1:]):
		return 0
	case len(args) == 2 && args[1] == "version":
		fmt.Println(version.Line())
		return 0
	}
	return handOver(args)
}

// beside returns the path of the sm in the directory of this program.
func beside() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(self), wholeProgram), nil
}

// handOver replaces this process by the sm in its directory. Without an sm it
// prints an error and returns 1. For commands that clients run it returns 0 and
// prints nothing: another exit code would stop the agent.
func handOver(args []string) int {
	path, err := beside()
	// A process with the name of sm is this program after an Exec: sm is sm-hook,
	// and another Exec would repeat that forever.
	if err == nil && filepath.Base(args[0]) == wholeProgram {
		err = fmt.Errorf("%s is sm-hook itself", path)
	}
	if err == nil {
		// Exec returns only with an error.
		err = syscall.Exec(path, append([]string{path}, args[1:]...), os.Environ())
		err = fmt.Errorf("%s: %w", path, err)
	}
	if len(args) > 1 && (args[1] == "hook" || args[1] == "statusline") {
		return 0
	}
	fmt.Fprintf(
		os.Stderr,
		"sm-hook: no sm beside it: %v; put both there, say with make install\n",
		err,
	)
	return 1
}
