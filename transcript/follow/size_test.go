package follow

import (
	"testing"
	"unsafe"
)

// TestSize: there are as many of these as transcripts. The bound is a size class of the
// allocator: what goes beyond it takes the next one, for every transcript.
func TestSize(t *testing.T) {
	if n := unsafe.Sizeof(file{}); n > 160 {
		t.Errorf("a file takes %d bytes, more than 160", n)
	}
}
