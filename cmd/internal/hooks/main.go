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

// Main is the small program: it gives the exit code of the process.
func Main(args []string) int {
	called := wholeProgram // how sm would have been called in place of the small program
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

// beside is the path of the sm that the small program belongs to.
func beside() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(self), wholeProgram), nil
}

// handOver replaces this process by the sm next to it. If there is none it
// prints an error, except for commands that clients run: any exit code but 0
// would stop the agent.
func handOver(args []string) int {
	path, err := beside()
	if err == nil &&
		filepath.Base(args[0]) == wholeProgram { // it has become this very program, and would do so for ever
		err = fmt.Errorf("%s is sm-hook itself", path)
	}
	if err == nil {
		err = syscall.Exec(
			path,
			append([]string{path}, args[1:]...),
			os.Environ(),
		) // returns when it has failed
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
