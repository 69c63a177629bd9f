package follow

import (
	"os"
	"testing"
)

// TestModified tests that the stored cursor has the file's modification time, which lines of
// a tail do not have. Without it each start would open all files that were ever tailed.
func TestModified(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		a := r.path("-p", idA+".jsonl")
		r.append(a, reply(1, 100))
		r.start()
		r.settle("history")
		for n := range 3 {
			r.append(a, reply(2+n, 200))
			r.settle("append")
			r.until("the cursor has the time of the file", func() bool {
				info, err := os.Stat(a)
				noErrors(t, err)
				c := r.files[a].Cursor
				return c.Modified == info.ModTime().UnixNano() && c.Size == info.Size()
			})
		}
	})
}
