package main

import (
	"bytes"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"sm/cmd/internal/caller"
	"sm/cmd/internal/hooks"
	"sm/cmd/sm/internal/config"
)

// testEnv returns the environment of a process with these variables and the home /home/u.
func testEnv(vars map[string]string) *environ {
	all := map[string]string{"HOME": "/home/u"}
	maps.Copy(all, vars)
	return &environ{Process: hooks.Process{
		Stdin:      strings.NewReader(""),
		Stdout:     new(bytes.Buffer),
		Stderr:     new(bytes.Buffer),
		Executable: os.Executable,
		Caller: caller.Caller{
			Env: func(name string) (string, bool) { v, ok := all[name]; return v, ok },
		},
		Vars: func() []string {
			list := []string{quickRace}
			for name, value := range all {
				list = append(list, name+"="+value)
			}
			return list
		},
	}}
}

// mustLoad returns the configuration of a process with this file and these variables.
func mustLoad(t testing.TB, text string, vars map[string]string) *config.Config {
	t.Helper()
	cfg, err := config.Parse(
		"sm.yaml",
		[]byte(text),
		pflag.NewFlagSet("sm", pflag.ContinueOnError),
		testEnv(vars).Env,
	)
	noErrors(t, err)
	return cfg
}

func printed(t testing.TB, c *config.Config) []byte {
	t.Helper()
	var out bytes.Buffer
	noErrors(t, c.Print(&out))
	return out.Bytes()
}
