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

// TestSmallSilent: a small program that does not answer in time is not one of
// another version. It runs alone: a process that another test started would
// hold the script open for a moment, and no system runs a program that is being
// written.
func TestSmallSilent(t *testing.T) {
	path := filepath.Join(t.TempDir(), install.SmallName)
	if err := os.WriteFile(path, []byte("#!/bin/sh\nkill -STOP $$\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // in place of 10 s
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
