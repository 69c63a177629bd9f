package observer

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// fetchTargets makes this binary, run as another user, fetch these addresses.
const fetchTargets = "SM_TEST_FETCH"

func TestMain(m *testing.M) {
	if urls := os.Getenv(fetchTargets); urls != "" {
		os.Exit(fetchAll(strings.Fields(urls)))
	}
	flag.Bool("update", false, "rewrite the files in testdata")
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // most tests wait for timers
		panic(err)
	}
	goleak.VerifyTestMain(m, lastingGoroutines()...)
}

// fetchAll prints the answers as JSON.
func fetchAll(urls []string) int {
	out := json.NewEncoder(os.Stdout)
	for _, url := range urls {
		a, err := fetch(context.Background(), url)
		if err != nil {
			a.Body = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return 1
		}
	}
	return 0
}

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		noErrors(t, os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	noErrors(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf(
			"%s (-want +got); if that is meant, run go test -update and write a changelog line:\n%s",
			path,
			diff,
		)
	}
}

func noErrors(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
