package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDoctorOfClocks: a client whose clock differs from that of the machine on which its transcript is written.
func TestDoctorOfClocks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	written := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	stamped := func(by time.Duration) string {
		return fmt.Sprintf(`{"type":"user","timestamp":%q,"message":{"content":"x"}}`+"\n", written.Add(by).Format(time.RFC3339))
	}
	const title = `{"type":"summary","summary":"a title"}` + "\n"
	for _, tt := range []struct {
		text string
		want time.Duration
	}{
		{"", 0}, {stamped(0), 0}, {stamped(-time.Second), -time.Second}, {stamped(-3*time.Hour) + stamped(2*time.Hour), 2 * time.Hour},
		{stamped(2*time.Hour) + title, 2 * time.Hour}, {stamped(-2 * time.Hour), -2 * time.Hour}, {stamped(-2*time.Hour) + title, 0}, {"nothing\n", 0},
	} {
		if err := errors.Join(os.WriteFile(path, []byte(tt.text), 0o600), os.Chtimes(path, written, written)); err != nil {
			t.Fatal(err)
		}
		if got := clockSkew(path); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.text, got, tt.want)
		}
	}
	if got := clockSkew(path + ".none"); got != 0 {
		t.Errorf("without a transcript: %v", got)
	}
	if err := errors.Join(os.WriteFile(path, []byte(stamped(2*time.Hour)), 0o600), os.Chtimes(path, written, written)); err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[time.Duration]Finding{
		0: {"session web", Healthy, "transcript –", ""},
		2 * time.Hour: {"session web", Noted, "transcript –, its records are stamped 2h0m0s ahead of this machine's clock, so that its context lags",
			"set the clock where that client runs; timedatectl shows who keeps it"},
		-2 * time.Hour: {"session web", Noted, "transcript –, its records are stamped 2h0m0s behind this machine's clock, so that its context lags",
			"set the clock where that client runs; timedatectl shows who keeps it"},
	} {
		if err := errors.Join(os.WriteFile(path, []byte(stamped(offset)), 0o600), os.Chtimes(path, written, written)); err != nil {
			t.Fatal(err)
		}
		d := &doctor{Options: Options{Now: written}}
		d.session(json.RawMessage(fmt.Sprintf(`{"name":"web","is_active":true,"transcript_path":%q}`, path)))
		if diff := cmp.Diff([]Finding{want}, d.findings); diff != "" {
			t.Errorf("%v (-want +got):\n%s", offset, diff)
		}
	}
}
