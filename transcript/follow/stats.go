package follow

import (
	"os"
	"slices"
	"sync/atomic"
)

// Stats says how the following goes; it may be read at any time.
type Stats struct {
	// Files and Bytes are what the first search has found to read; FilesDone and
	// BytesDone what has been read, wakings and healings included.
	Files, Bytes, FilesDone, BytesDone atomic.Int64
	// Parked, Live and Failed count the files known, Lag the bytes that live files
	// hold beyond what has been read, as of the last check.
	Parked, Live, Failed, Lag atomic.Int64
}

// publish counts the files.
func (s *Stats) publish(f *follower) {
	var lag int64
	for fl := range f.live {
		lag += max(0, fl.tail.seen.poked-fl.tail.seen.offset)
	}
	liveFiles := int64(len(f.live))
	failed := int64(len(f.failing))
	parkedFiles := int64(len(f.index.files)) - liveFiles - failed
	s.Parked.Store(parkedFiles)
	s.Live.Store(liveFiles)
	s.Failed.Store(failed)
	s.Lag.Store(lag)
}

// sortByAge puts the files written last at the end, where the queue is served.
func sortByAge(files []*file) {
	slices.SortFunc(files, func(a, b *file) int {
		switch {
		case a.modified < b.modified:
			return -1
		case a.modified > b.modified:
			return 1
		}
		return 0
	})
}

// expect adds what is about to be read to the totals that progress is shown by.
func (s *Stats) expect(files []*file) {
	for _, fl := range files {
		if info, err := os.Lstat(fl.cursor.Path); err == nil {
			fl.expected = info.Size()
			s.Bytes.Add(info.Size())
		}
		s.Files.Add(1)
	}
}
