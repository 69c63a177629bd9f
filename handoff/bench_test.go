package handoff

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkExamine: what is handed over, and the refusals that are dearest to find.
func BenchmarkExamine(b *testing.B) {
	dir := b.TempDir()
	plan := filepath.Join(dir, "plan")
	sparse := filepath.Join(dir, "sparse")
	fifo := filepath.Join(dir, "fifo")
	for _, err := range []error{
		os.WriteFile(
			plan,
			[]byte(strings.Repeat("x", DefaultLimit)),
			0o600,
		), os.WriteFile(
			sparse,
			nil,
			0o600,
		), os.Truncate(
			sparse,
			10<<30,
		),
		syscall.Mkfifo(fifo, 0o600),
	} {
		if err != nil {
			b.Fatal(err)
		}
	}
	for name, path := range map[string]string{"256KiB": plan, "10GB": sparse, "FIFO": fifo} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = Examine(path, time.Time{}, 0)
			}
		})
	}
}

// BenchmarkClaim is what a session waits for as it starts: nothing there for it, and
// something.
func BenchmarkClaim(b *testing.B) {
	d := NewDocuments(b.TempDir(), 0, nil)
	if _, err := d.Put(NewDocument{Channel: web, Agent: "worker", Body: strings.Repeat("x", 8000)}, noon); err != nil {
		b.Fatal(err)
	}
	for name, agent := range map[string]string{"nothing": "other", "given": "worker"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, ok, err := d.Claim(
					Claimant{webChannel(), agent, "s", 1},
					noon,
					nobody,
				); err != nil ||
					ok != (agent == "worker") {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

func BenchmarkPut(b *testing.B) {
	d := NewDocuments(b.TempDir(), 0, nil)
	for b.Loop() {
		if _, err := d.Put(NewDocument{
			Channel: web,
			Agent:   "worker",
			Body:    strings.Repeat("x", 8000),
		}, noon); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInject(b *testing.B) {
	d := injected()
	d.Body = strings.Repeat("A line of the plan, with what is next.\n", 256<<10/39)
	for b.Loop() {
		Inject(d, 9500, noon)
	}
}

func BenchmarkRecent(b *testing.B) {
	text := strings.Repeat(transcript+"\n", 4<<20/len(transcript))
	for b.Loop() {
		if _, err := Recent(strings.NewReader(text), int64(len(text)), Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
