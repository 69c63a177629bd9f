package follow

import (
	"os"
	"strings"
	"testing"
	"time"

	"sm/transcript"
	"sm/transcript/claude"
)

// TestLastLineChanges tests that an unfinished last line of a live file is read correctly,
// also when its bytes arrive after its size, or when it is replaced by a shorter one.
func TestLastLineChanges(t *testing.T) {
	first := reply(1, 100)
	second := reply(2, 200)
	for _, tt := range []struct {
		name, before, after string
		reread              bool
	}{
		{"filled in", strings.Repeat("\x00", len(second)), second, false},
		{"shorter", `{"type":"user","text":"` + strings.Repeat("x", 1<<16), second, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newReader(t, claude.Format(), idA+".jsonl", []byte(first+tt.before))
			fl := &file{id: transcript.File{Name: idA}, format: p.format}
			fl.cursor.Path = p.path
			l := &tailer{reading: *p.f.read(t.Context(), fl, p.w).live}
			look := func() (reread bool) {
				t.Helper()
				for reread = l.look(t.Context(), p.w.buf); len(p.out) > 0; {
					<-p.out
				}
				return reread
			}
			if look() || look() {
				t.Fatal("marked for reading again before a change")
			}
			noErrors(t, os.WriteFile(p.path, []byte(first+tt.after), 0o600))
			later := time.Now().Add(time.Millisecond)
			noErrors(t, os.Chtimes(p.path, later, later))
			reread := look()
			if n := l.fold.Sum().Messages; reread != tt.reread || !reread && n != 2 {
				t.Errorf("reread %t, %d messages", reread, n)
			}
		})
	}
}
