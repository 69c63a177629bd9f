package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLinksLittle tests that sm-hook links only packages that start quickly. Package net
// alone would cost a third of a hook's time.
func TestLinksLittle(t *testing.T) {
	t.Parallel()
	for _, system := range []string{"linux", "darwin"} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
		cmd.Env = append(cmd.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Fields(string(out))
		for _, name := range all {
			first, _, _ := strings.Cut(name, "/")
			foreign := strings.Contains(first, ".") &&
				!strings.HasPrefix(name, "golang.org/x/sys/")
			if foreign ||
				slices.Contains(
					[]string{
						"net",
						"net/http",
						"crypto",
						"crypto/tls",
						"regexp",
						"text/template",
						"log/slog",
						"flag",
					},
					name,
				) {
				t.Errorf("%s: linked from %s", system, name)
			}
		}
		if len(all) < 50 || len(all) > 110 {
			t.Errorf("%s: linked from %d packages", system, len(all))
		}
	}
}
