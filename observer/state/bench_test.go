package state

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sm/observer/fleet"
	"sm/observer/tally"
	"sm/transcript"
)

const (
	benchSessions = 10_000
	benchClaims   = 1_000_000
)

func benchOpen(b *testing.B, dir string) *Store {
	b.Helper()
	s, err := Open(dir, quiet(), time.Unix(1_800_000_000, 0))
	noErrors(b, err)
	return s
}

func benchSave(b *testing.B, s *Store, d fleet.Delta) {
	b.Helper()
	noErrors(b, s.Save(d))
}

// randomClaims are spread over the sessions as messages are.
func randomClaims(r *rand.Rand, n, sessions int) []fleet.Claim {
	out := make([]fleet.Claim, n)
	for i := range out {
		out[i] = fleet.Claim{
			Key:   transcript.Key(r.Uint64() | 1),
			Owner: transcript.Join(transcript.Key(r.IntN(sessions) + 1)),
		}
	}
	return out
}

// BenchmarkRestart opens and loads the state of 10 000 transcripts, with a ledger of their
// messages.
func BenchmarkRestart(b *testing.B) {
	for _, messages := range []int{0, benchClaims} {
		b.Run(fmt.Sprint(messages), func(b *testing.B) {
			r := rand.New(rand.NewPCG(5, 6))
			dir := b.TempDir()
			s := benchOpen(b, dir)
			d := fleet.Delta{
				Settled:  true,
				Claims:   randomClaims(r, 50_000, benchSessions),
				Messages: randomClaims(r, messages, benchSessions),
			}
			for i := range benchSessions {
				d.Files = append(d.Files, sampleFile(i))
				d.Records = append(d.Records, sampleRecord(i))
			}
			benchSave(b, s, d)
			s.Close()
			for b.Loop() {
				s := benchOpen(b, dir)
				stored, err := s.Load()
				if err != nil || len(stored.Files) != benchSessions ||
					len(stored.Claims) != 50_000 {
					b.Fatal(len(stored.Files), len(stored.Claims), err)
				}
				s.Close()
			}
			info, err := os.Stat(filepath.Join(dir, FileName))
			noErrors(b, err)
			b.ReportMetric(float64(info.Size())/1e6, "MB")
		})
	}
}

// BenchmarkSave is an ordinary quarter of a second: 30 files have grown.
func BenchmarkSave(b *testing.B) {
	s := benchOpen(b, b.TempDir())
	defer s.Close()
	var d fleet.Delta
	for i := range benchSessions {
		d.Files = append(d.Files, sampleFile(i))
	}
	benchSave(b, s, d)
	all := d.Files
	n := 0
	for b.Loop() {
		var d fleet.Delta
		for range 30 {
			n++
			d.Files = append(d.Files, all[n*7919%len(all)])
		}
		d.Messages = randomClaims(rand.New(rand.NewPCG(uint64(n), 0)), 30, benchSessions)
		d.Counters = &tally.Counters{Bytes: uint64(n)}
		benchSave(b, s, d)
	}
}
