package install

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnifiedDiff(t *testing.T) {
	t.Parallel()
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for _, tt := range []struct{ name, before, after, want string }{
		{"equal", ten, ten, ""},
		{"empty", "", "", ""},
		{"new", "", "a\n", "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+a\n"},
		{"gone", "a\n", "", "--- f\n+++ f\n@@ -1,1 +0,0 @@\n-a\n"},
		{"middle", ten, strings.Replace(ten, "5\n", "five\n", 1), "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		{"two hunks", ten, "0\n" + strings.TrimSuffix(ten, "10\n"), "--- f\n+++ f\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -7,4 +8,3 @@\n 7\n 8\n 9\n-10\n"},
		{"no last newline", "{}", "{}\n", "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-{}\n\\ No newline at end of file\n+{}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, unifiedDiff("f", tt.before, tt.after)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What patch makes of the diff is the other text.
func TestUnifiedDiffPatches(t *testing.T) {
	t.Parallel()
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("no patch here")
	}
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range rng.IntN(30) {
			fmt.Fprintln(&b, rng.IntN(4))
		}
		return b.String()
	}
	for i := range 40 {
		before, after := text(), text()
		diff := unifiedDiff("f", before, after)
		if before == after || before == "" || after == "" { // patch removes empty files
			continue
		}
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(patch, "-s", "--fuzz=0", name)
		cmd.Stdin = strings.NewReader(diff)
		out, err := cmd.CombinedOutput()
		got, _ := os.ReadFile(name)
		if err != nil || string(got) != after {
			t.Fatalf("%v %s\nbefore %q\nafter  %q\ngot    %q\n%s", err, out, before, after, got, diff)
		}
	}
}

func TestDiffOfMuch(t *testing.T) {
	t.Parallel()
	before, after := strings.Repeat("a\n", 3000), strings.Repeat("b\n", 3000)
	if got := unifiedDiff("f", before, after); strings.Count(got, "\n-a") != 3000 || strings.Count(got, "\n+b") != 3000 {
		t.Errorf("%d bytes", len(got))
	}
}
