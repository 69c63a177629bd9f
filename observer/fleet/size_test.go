package fleet

import (
	"testing"
	"unsafe"
)

// TestSizes: there are as many of these as transcripts. Each bound is a size class of the
// allocator: what goes beyond it takes the next one, for every transcript.
func TestSizes(t *testing.T) {
	for _, x := range []struct {
		name        string
		bytes, most uintptr
	}{
		{"file", unsafe.Sizeof(file{}), 424},
		{"session", unsafe.Sizeof(session{}), 80},
		{"SessionRecord", unsafe.Sizeof(SessionRecord{}), 136},
	} {
		if x.bytes > x.most {
			t.Errorf("a %s takes %d bytes, more than %d", x.name, x.bytes, x.most)
		}
	}
}
