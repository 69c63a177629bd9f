package doctor

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/deploy/install"
)

// TestSmallSilent tests that a small program that does not answer in time is not reported as
// another version. It is not parallel: a process of another test could inherit the script
// open for writing, which keeps the system from running it.
func TestSmallSilent(t *testing.T) {
	path := filepath.Join(t.TempDir(), install.SmallName)
	if err := os.WriteFile(path, []byte("#!/bin/sh\nkill -STOP $$\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // instead of 10 s
	defer cancel()
	d := &doctor{Options: Options{Version: "sm v1"}}
	d.smallVersion(ctx, "hooks", "sm-hook", path)
	want := []Finding{{
		"hooks", Noted, "they call sm-hook, which prints no version in time",
		"run sm doctor again, or replace it, for example with make install", "",
	}}
	if diff := cmp.Diff(want, d.findings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
