package main

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// generateDense writes transcripts of short lines: prompts, replies of three lines, results of tools, compactions. Lines
// have some 600 bytes in the mean, as in collections of small real transcripts; in the large corpus it is several times
// that. So a gigabyte has several times as many records, and reports remember each record.
func generateDense(dir string, bytes int64) error {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 0; bytes > 0; n++ {
		id := fmt.Sprintf("%08x-0000-4000-8000-%012x", rng.Uint32(), n)
		path := filepath.Join(dir, fmt.Sprintf("-home-dev-p%d", n%20), id+".jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		d := dense{w: bufio.NewWriter(f), rng: rng, id: id, at: time.Date(2026, 1, 1+n%300, n%24, 0, 0, 0, time.UTC), left: min(bytes, 1<<20+rng.Int64N(2<<20))}
		bytes -= d.left
		d.write()
		if err := errors.Join(d.w.Flush(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// dense writes one transcript.
type dense struct {
	w    *bufio.Writer
	rng  *rand.Rand
	id   string
	at   time.Time
	left int64
}

func (d *dense) write() {
	for size := 20_000; d.left > 0; {
		d.line(`"type":"user","message":{"role":"user","content":"%s"}`, "go on")
		for range 1 + d.rng.IntN(8) {
			size += 200 + d.rng.IntN(2500)
			message := d.rng.Uint64()
			for range 3 {
				d.line(`"type":"assistant","message":{"id":"msg_%016x","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"`+
					`%s"}],"usage":{"input_tokens":3,"cache_creation_input_tokens":500,"cache_read_input_tokens":%d,"output_tokens":50}}`, message, d.text(60), size)
			}
			d.line(`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"%s"}]}`, d.text(200))
		}
		if size > 165_000 {
			d.line(`"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":%d}`, size)
			d.line(`"type":"user","isCompactSummary":true,"message":{"role":"user","content":"%s"}`, d.text(2000))
			size = 35_000 + d.rng.IntN(20_000)
		}
	}
}

// text is of so many bytes in the mean.
func (d *dense) text(n int) string { return strings.Repeat("lorem ipsum ", 1+d.rng.IntN(n/6)) }

func (d *dense) line(format string, args ...any) {
	d.at = d.at.Add(time.Duration(1+d.rng.IntN(9000)) * time.Millisecond)
	n, _ := fmt.Fprintf(d.w, `{"parentUuid":"%08x-1111-4111-8111-%012x","isSidechain":false,"userType":"external","cwd":"/home/dev/web","sessionId":"%s",`+
		`"version":"2.1.44","uuid":"%08x-2222-4222-8222-%012x","timestamp":"%s",`+format+"}\n",
		append([]any{d.rng.Uint32(), d.rng.Uint64() >> 16, d.id, d.rng.Uint32(), d.rng.Uint64() >> 16, d.at.Format("2006-01-02T15:04:05.000Z")}, args...)...)
	d.left -= int64(n)
}
