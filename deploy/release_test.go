package deploy

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestReleasedPrograms tests that all commands are released, except the one that works on the
// source tree.
func TestReleasedPrograms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct{ Builds []struct{ Main string } }
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	got := []string{"./cmd/bench"}
	for _, build := range config.Builds {
		got = append(got, build.Main)
	}
	slices.Sort(got)

	mains, err := filepath.Glob("../cmd/*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, path := range mains {
		want = append(want, "./cmd/"+filepath.Base(filepath.Dir(path)))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
