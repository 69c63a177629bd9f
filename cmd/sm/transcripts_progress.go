package main

import (
	"fmt"
	"time"

	"sm/dashboards/screen"
	"sm/transcript/follow"
)

// progressText says how far the reading of transcripts is.
func progressText(s *follow.Stats) func(passed time.Duration) string {
	return func(passed time.Duration) string {
		done := float64(s.BytesDone.Load())
		return fmt.Sprintf("reading %d of %d transcripts, %s of %s, %s/s", s.FilesDone.Load(), s.Files.Load(),
			screen.Bytes(done), screen.Bytes(float64(s.Bytes.Load())), screen.Bytes(done/max(passed.Seconds(), 0.001)))
	}
}
