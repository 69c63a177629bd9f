package follow

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/codex"
)

// sequences is the number of random sequences of file events for each client.
const sequences = 2000

// TestRandomSequences changes transcripts as clients, people and machines do, in random
// order, and checks that the sums equal a full reading at the end. Half of the sequences run
// without inotify, half with at most one tail.
func TestRandomSequences(t *testing.T) {
	t.Parallel()
	for _, format := range []*transcript.Format{claude.Format(), codex.Format(nil)} {
		t.Run(format.Client, func(t *testing.T) {
			t.Parallel()
			randomSequences(t, format)
		})
	}
}

func randomSequences(t *testing.T, format *transcript.Format) {
	const parallel = 8
	n := sequences / parallel
	if testing.Short() || racing() {
		n /= 20
	}
	for i := range parallel {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.speaks(format)
			r.o.NoInotify = i%2 == 1
			r.o.Check = 10 * time.Millisecond
			r.o.Workers = 2
			r.o.Rescan = 24 * time.Hour // with inotify, only its events count
			if i >= parallel/2 {
				r.o.Tails = 1 // the lookers read most files
			}
			if i%4 > 1 {
				r.o.ActiveFor = 60 * time.Millisecond
				r.o.Live = 2 // park often
			}
			r.start()
			lines := bytes.SplitAfter(
				read(t, "../codex/testdata/transcripts/*/sessions/*/*/*/*.jsonl"),
				[]byte{'\n'},
			)
			lines = slices.DeleteFunc(
				lines,
				func(line []byte) bool { return len(line) > 6000 },
			)
			for s := range n {
				m := mischief{
					rig:   r,
					rand:  rand.New(rand.NewPCG(uint64(i), uint64(s))),
					lines: lines,
				}
				m.run()
				r.settle(fmt.Sprintf(
					"sequence %d of %d: %s",
					s,
					i,
					strings.Join(m.did, ", "),
				))
				m.clean()
			}
			r.stop()
		})
	}
}

// mischief is one random sequence.
type mischief struct {
	*rig
	rand  *rand.Rand
	lines [][]byte // of Codex
	did   []string
	n     int
}

func (m *mischief) run() {
	for range 2 + m.rand.IntN(9) {
		m.step()
		for m.rand.IntN(3) == 0 { // let the follower read part of it
			select {
			case c := <-m.out:
				m.take(c)
			case <-time.After(time.Duration(m.rand.IntN(30)) * time.Millisecond):
			}
		}
	}
}

func (m *mischief) clean() {
	entries, err := os.ReadDir(m.root)
	m.must(err)
	for _, e := range entries {
		m.must(os.RemoveAll(filepath.Join(m.root, e.Name())))
	}
	m.settle("cleaned")
}

func (m *mischief) codex() bool { return m.format.Client == codex.Client }

// packedEnd is the end of the name of a compressed transcript.
const packedEnd = ".zst"

// pack compresses a text, as Codex does with transcripts that have not been written for long.
func pack(t *testing.T, text string) string {
	t.Helper()
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	noErrors(t, err)
	return string(z.EncodeAll([]byte(text), nil))
}

// textFor returns some lines for a file of that name.
func (m *mischief) textFor(path string) string {
	if strings.HasSuffix(path, packedEnd) {
		return pack(m.t, m.text())
	}
	return m.text()
}

// unpacked changes between a transcript and its compressed form, as the client does.
func (m *mischief) unpacked(path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		return
	}
	to, isPacked := strings.CutSuffix(path, packedEnd)
	text := string(b)
	if isPacked {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		m.must(err)
		defer z.Close()
		if b, err = z.DecodeAll(b, nil); err != nil {
			return // it is broken
		}
		text = string(b)
	} else {
		to, text = path+packedEnd, pack(m.t, text)
	}
	m.renameOver(to, text)
	m.must(os.Remove(path))
}

// renameOver replaces a file by renaming.
func (m *mischief) renameOver(path, text string) {
	tmp := m.path("tmp")
	m.write(tmp, text, os.O_TRUNC)
	m.must(os.MkdirAll(filepath.Dir(path), 0o700))
	m.must(os.Rename(tmp, path))
}

// pick returns one of few paths, so that events coincide.
func (m *mischief) pick() string {
	if m.codex() {
		name := "rollout-2026-11-20T08-00-00-" + []string{
			idA,
			idB,
			idA + "_" + idB,
		}[m.rand.IntN(3)] + ".jsonl"
		if m.rand.IntN(4) == 0 {
			name += packedEnd
		}
		if m.rand.IntN(5) == 0 {
			return m.path("archived", name)
		}
		return m.path("2026", "11", fmt.Sprint(20+m.rand.IntN(2)), name)
	}
	project := m.path("-p" + fmt.Sprint(m.rand.IntN(2)))
	id := []string{idA, idB}[m.rand.IntN(2)]
	if m.rand.IntN(5) == 0 {
		return filepath.Join(project, id, "subagents", "agent-1.jsonl")
	}
	return filepath.Join(project, id+".jsonl")
}

// text returns some lines; sometimes a compaction, a bad line, a long one.
func (m *mischief) text() string {
	var b strings.Builder
	for range 1 + m.rand.IntN(4) {
		m.n++
		n := int(m.rand.Uint32()>>8)*100 + m.n
		if m.codex() {
			b.Write(m.lines[m.rand.IntN(len(m.lines))])
			continue
		}
		switch m.rand.IntN(8) {
		case 0:
			fmt.Fprintf(
				&b,
				`{"type":"system","subtype":"compact_boundary","uuid":"b%d","timestamp":"2026-11-20T09:00:%02dZ","compactMetadata":{"trigger":"auto","preTokens":9}}`+"\n",
				n,
				m.rand.IntN(60),
			)
		case 1:
			b.WriteString("{\"type\":\"assistant\",\n")
		case 2:
			fmt.Fprintf(
				&b,
				`{"type":"user","uuid":"p%d","timestamp":"2026-11-20T09:00:%02dZ","message":{"content":"%s"}}`+"\n",
				n,
				m.rand.IntN(60),
				strings.Repeat("x", m.rand.IntN(6000)),
			)
		default:
			b.WriteString(reply(n, 1+m.rand.IntN(1000)))
		}
	}
	return b.String()
}

func (m *mischief) step() {
	path := m.pick()
	type kind struct {
		name string
		do   func(string)
	}
	kinds := []kind{
		{"append", func(p string) { m.append(p, m.textFor(p)) }},
		{"append", func(p string) { m.append(p, m.textFor(p)) }},
		{"half", func(p string) { s := m.textFor(p); m.append(p, s[:m.rand.IntN(len(s))]) }},
		{"halves", func(p string) {
			s := m.textFor(p)
			k := m.rand.IntN(len(s))
			m.append(p, s[:k])
			m.append(p, s[k:])
		}},
		{"truncate", func(p string) {
			if info, err := os.Stat(p); err == nil {
				m.must(os.Truncate(p, m.rand.Int64N(info.Size()+1)))
			}
		}},
		{"rewrite", func(p string) { m.write(p, m.textFor(p), os.O_TRUNC) }},
		{"rename over", func(p string) { m.renameOver(p, m.textFor(p)) }},
		{"delete", func(p string) { os.Remove(p) }},
		{"recreate", func(p string) { os.Remove(p); m.append(p, m.textFor(p)) }},
		{"copy", func(p string) { m.copy(p, m.pick()) }},
		{"move", func(p string) {
			if _, err := os.Stat(p); err == nil {
				to := m.pick()
				m.must(os.MkdirAll(filepath.Dir(to), 0o700))
				m.must(os.Rename(p, to))
			}
		}},
		{
			"move folder",
			func(p string) {
				os.Rename(
					filepath.Dir(p),
					m.path(fmt.Sprint("-q", m.rand.IntN(99))),
				)
			},
		},
		{"restart", func(string) { m.stop(); m.start() }},
	}
	if m.codex() {
		kinds = append(kinds, kind{
			"compress or unpack",
			m.unpacked,
		}, kind{
			"compress or unpack",
			m.unpacked,
		}, kind{"archive", func(p string) {
			if _, err := os.Stat(p); err == nil {
				m.must(os.MkdirAll(m.path("archived"), 0o700))
				m.must(os.Rename(p, m.path("archived", filepath.Base(p))))
			}
		}})
	}
	k := kinds[m.rand.IntN(len(kinds))]
	m.did = append(m.did, k.name+" "+strings.TrimPrefix(path, m.root))
	k.do(path)
}

func (m *mischief) copy(from, to string) {
	src, err := os.Open(from)
	if err != nil {
		return
	}
	defer src.Close()
	m.must(os.MkdirAll(filepath.Dir(to), 0o700))
	dst, err := os.Create(to)
	m.must(err)
	defer dst.Close()
	if from != to {
		_, err = io.Copy(dst, src)
		m.must(err)
	}
}
