package follow

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// reads counts the bytes read of a file.
type reads struct {
	*bytes.Reader
	bytes int
}

func (r *reads) ReadAt(b []byte, at int64) (int, error) {
	n, err := r.Reader.ReadAt(b, at)
	r.bytes += n
	return n, err
}

// TestLinesOfAnyLength tests that each line is returned once, complete, with its offset,
// among any others, and that a larger buffer reads all lines that fit into it with one read.
func TestLinesOfAnyLength(t *testing.T) {
	sizes := []int{
		0,
		1,
		100,
		5000,
		bufferBytes - pageBytes,
		bufferBytes - 1,
		bufferBytes,
		bufferBytes + 1,
		2*bufferBytes + 17,
		wideBytes - pageBytes,
	}
	beyond := []int{wideBytes - 1, wideBytes, wideBytes + 1, wideBytes + bufferBytes}
	r := rand.New(rand.NewPCG(5, 0))
	for round := range 60 {
		from := sizes
		if round%3 == 0 {
			from = slices.Concat(sizes, beyond)
		}
		var text []byte
		var ends []int64
		for range 1 + r.IntN(12) {
			text = append(
				append(
					text,
					bytes.Repeat([]byte{byte('a' + r.IntN(26))}, from[r.IntN(len(from))])...,
				),
				'\n',
			)
			ends = append(ends, int64(len(text)))
		}
		text = append(text, "unfinished"...)
		var wide []byte
		for _, kept := range []*[]byte{
			nil,
			&wide,
			&wide,
		} { // the buffer is reused for another file
			file := &reads{Reader: bytes.NewReader(text)}
			l := lines{
				marks: &marks{},
				file:  file,
				buf:   make([]byte, bufferBytes),
				wide:  kept,
			}
			var got []int64
			err := l.each(t.Context(), int64(len(text)), func(line []byte, end int64) bool {
				if want := text[end-int64(len(line))-1 : end-1]; !bytes.Equal(line, want) {
					t.Fatalf("round %d: another line ends at %d", round, end)
				}
				got = append(got, end)
				return true
			})
			if err != nil || !slices.Equal(got, ends) || l.base != ends[len(ends)-1] {
				t.Fatalf(
					"round %d: lines end at %d (%v, last %d), want %d",
					round,
					got,
					err,
					l.base,
					ends,
				)
			}
			if most := len(text); kept != nil && round%3 != 0 && file.bytes > most {
				t.Errorf("round %d: %d bytes read of %d", round, file.bytes, most)
			}
		}
	}
}
