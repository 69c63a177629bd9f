package observer

import (
	"log/slog"
	"strings"
	"testing"
)

// TestUnknownNames tests that unknown names in transcripts are counted once each, and not
// again when the file is read again after a restart.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Logger = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{
		Level: slog.LevelDebug,
	}))
	const series = `sm_transcript_unknown_total{client="claude",kind="record"}`
	r.write(
		uuid(1),
		reply(ago(0), "m1", 1000, 1),
		`{"type":"new-record"}`,
		`{"type":"new-record"}`,
	)
	r.start()
	if n := r.scrape()[series]; n != 2 {
		t.Errorf("%v unknown records, want 2", n)
	}
	if !strings.Contains(
		r.log.String(),
		"level=DEBUG msg=\"unknown name in a transcript\" client=claude kind=record name=new-record count=2",
	) {
		t.Errorf("the log lacks the name:\n%s", r.log)
	}
	r.stop()

	r.write(uuid(1), `{"type":"newer-record"}`)
	r.start()
	if n := r.scrape()[series]; n != 1 {
		t.Errorf("%v unknown records after a restart, want 1", n)
	}
}
