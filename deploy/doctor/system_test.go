package doctor

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/deploy/install"
)

// TestMemoryLimit tests that a memory limit that Go's runtime does not accept is named
// wherever hooks would get it. The runtime itself decides: with an invalid value this test
// does not start.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{
		"", "off", "4096", "4096B", "4GiB", "4G", "4gib", "-1", "1.5GiB", " 4GiB", "x",
		"9223372036854775808", "8388607TiB", "8388608TiB",
	} {
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^$")
		cmd.Env = append(cmd.Environ(), memoryLimit+"="+value)
		wrong := cmd.Run() != nil
		dir := t.TempDir()
		settings := filepath.Join(dir, "settings.json")
		if err := errors.Join(os.Mkdir(filepath.Join(dir, "4711"), 0o700),
			os.WriteFile(
				filepath.Join(dir, "4711", "environ"),
				[]byte("A=b\x00"+memoryLimit+"="+value+"\x00"),
				0o600,
			),
			os.WriteFile(
				settings,
				[]byte(`{"env": {"A": "b", "GOMEMLIMIT": "`+value+`"}}`),
				0o600,
			)); err != nil {
			t.Fatal(err)
		}
		d := &doctor{Options: Options{Proc: dir}}
		d.layer(settings)
		d.memoryOf(install.Installed{Version: "2.1.197", PID: 4711})
		d.memoryOf(install.Installed{Version: "2.1.197", By: "/usr/bin/claude"})
		var want []Finding
		for _, where := range []string{settings, "2.1.197, which runs as process 4711"} {
			if wrong {
				want = append(want, Finding{
					"hooks", Broken, "GOMEMLIMIT=" + value + " of " + where + " ends every hook at its start, and the client takes that for a refusal",
					"write it as 4GiB, or leave it out, and start the client anew", "",
				})
			}
		}
		if diff := cmp.Diff(want, d.findings); diff != "" {
			t.Errorf("%q (-want +got):\n%s", value, diff)
		}
	}
}
