package transcripttest

import (
	"cmp"
	"math"
	"math/rand/v2"
)

const (
	// medianFile and largestFile are sizes of real transcripts.
	medianFile  = 1_200_000
	largestFile = 64_000_000
	// meanFile follows from the median and the spread of sizes.
	fileSpread = 1.27
	meanFile   = 2_700_000
	// keptFile is the largest session whose records are kept for copies.
	keptFile = 1 << 20
	// compactionLimit is where clients compact a window of 200 000 tokens.
	compactionLimit = 167_000
	// imageOdds is one of how many results is a picture; pictures are of 2.1 MB.
	imageOdds = 2_200
	imageSize = 1_050_000
)

// large writes sessions of the sizes and the mix that long use leaves behind.
func (f *fleet) large() {
	n := max(1, f.options.Bytes/meanFile)
	for _, size := range f.sizes(cmp.Or(f.options.Sessions, int(n))) {
		s, w := f.begin(!f.options.Copies || size > keptFile)
		for s.books.file.Bytes < size && f.err == nil {
			f.largeTurn(s, size)
			if f.chance(30) {
				f.between(s)
			}
			if f.options.Traps {
				f.trap(s)
			}
			if f.options.Subagents && f.chance(5) {
				f.subagents(s)
			}
		}
		if f.options.Copies && f.chance(30) {
			f.copies(s, 1)
		}
		f.end(s, w)
	}
	f.settle()
}

// sizes draws log-normal sizes that add up to the wanted bytes, roughly.
func (f *fleet) sizes(n int) []int64 {
	sizes := make([]int64, n)
	var sum int64
	for i := range sizes {
		sizes[i] = min(int64(spread(f.rng, medianFile, fileSpread)), largestFile)
		sum += sizes[i]
	}
	for i := range sizes {
		sizes[i] = min(int64(float64(sizes[i])*float64(f.options.Bytes)/float64(sum)), largestFile)
	}
	return sizes
}

// largeTurn is a turn of large results.
func (f *fleet) largeTurn(s *Session, size int64) {
	s.Prompt("")
	for range 3 + f.rng.IntN(10) {
		if s.context > compactionLimit {
			s.Compact(Compaction{Trigger: Auto})
		}
		tools := 1
		if f.chance(20) {
			tools = 2
		}
		text := -1
		if f.chance(45) {
			text = spread(f.rng, 250, 1.3)
		}
		s.Reply(Reply{Tools: tools, Text: text, Input: spread(f.rng, 320, 1.6), Thinking: f.chance(5), Task: f.chance(3)})
		if f.chance(45) {
			s.Progress(spread(f.rng, 950, 1))
			s.Attachment(spread(f.rng, 950, 1))
		}
		for range tools {
			if size > 8*imageSize && f.rng.IntN(imageOdds) == 0 {
				s.ToolResult(Result{Image: imageSize})
			} else {
				s.ToolResult(Result{Size: f.resultSize()})
			}
		}
	}
	s.Reply(Reply{Text: spread(f.rng, 600, 1.2)})
	s.TurnDuration()
}

// spread draws a log-normal size.
func spread(rng *rand.Rand, median int, sigma float64) int {
	return int(float64(median) * math.Exp(sigma*rng.NormFloat64()))
}
