package observer

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An exposition is metrics being written down, in the text format of Prometheus or
// in OpenMetrics. It does what the library's encoder does, byte for byte, at a
// fifth of the cost; what that one checks is checked by a test. Names and help are
// ours and need no care; values of labels are escaped.
type exposition struct {
	buf  []byte
	open bool // OpenMetrics
	// the family that has been begun
	name, kind, help string
	begun            bool // its first series is written
}

// family begins a metric family. Nothing of it shows until its first series.
func (e *exposition) family(name, kind, help string) {
	e.name, e.kind, e.help, e.begun = name, kind, help, false
}

// series writes one sample of the family. Labels are names and values in turn, in
// the order of names.
func (e *exposition) series(value float64, labels ...string) {
	e.head("", labels...)
	e.buf = append(e.buf, ' ')
	e.number(value)
	e.buf = append(e.buf, '\n')
}

// histogram writes the samples of one: counts has an element for each bound, and
// one for all beyond them.
func (e *exposition) histogram(bounds []float64, counts []uint64, sum float64, labels ...string) {
	var total uint64
	for i, n := range counts {
		bound := math.Inf(1)
		if i < len(bounds) {
			bound = bounds[i]
		}
		total += n
		e.head("_bucket", append(slices.Clone(labels), "le", "")...)
		e.buf = e.buf[:len(e.buf)-len(`"}`)]
		e.number(bound)
		e.buf = append(e.buf, `"}`...)
		e.count(total)
	}
	e.head("_sum", labels...)
	e.buf = append(e.buf, ' ')
	e.number(sum)
	e.buf = append(e.buf, '\n')
	e.head("_count", labels...)
	e.count(total)
}

// head writes what stands before a value.
func (e *exposition) head(suffix string, labels ...string) {
	if !e.begun {
		e.begun = true
		e.comments()
	}
	b := append(append(e.buf, e.name...), suffix...)
	for i := 0; i+1 < len(labels); i += 2 {
		b = append(b, ",{"[btoi(i == 0)])
		b = append(append(b, labels[i]...), `="`...)
		b = append(escape(b, labels[i+1]), '"')
	}
	if len(labels) > 0 {
		b = append(b, '}')
	}
	e.buf = b
}

// comments writes the family's own lines. In OpenMetrics a counter's family is
// called without the suffix of its series.
func (e *exposition) comments() {
	name := e.name
	if e.open && e.kind == "counter" {
		name = strings.TrimSuffix(name, "_total")
	}
	for _, part := range []string{"# HELP ", name, " ", e.help, "\n# TYPE ", name, " ", e.kind, "\n"} {
		e.buf = append(e.buf, part...)
	}
}

// number writes a value, in OpenMetrics always as one that is no integer.
func (e *exposition) number(f float64) {
	start := len(e.buf)
	if math.Abs(f) < 1e6 && f == math.Trunc(f) { // the same, faster
		e.buf = strconv.AppendInt(e.buf, int64(f), 10)
	} else {
		e.buf = strconv.AppendFloat(e.buf, f, 'g', -1, 64)
	}
	if e.open && !bytes.ContainsAny(e.buf[start:], ".eIN") {
		e.buf = append(e.buf, ".0"...)
	}
}

// count writes the value of a bucket and ends the line.
func (e *exposition) count(n uint64) {
	e.buf = append(e.buf, ' ')
	if e.open {
		e.buf = strconv.AppendUint(e.buf, n, 10)
	} else {
		e.number(float64(n))
	}
	e.buf = append(e.buf, '\n')
}

func escape(b []byte, s string) []byte {
	start := 0
	for i := range len(s) {
		c := s[i]
		if c != '"' && c != '\\' && c != '\n' {
			continue
		}
		b = append(append(b, s[start:i]...), '\\', c)
		if c == '\n' {
			b[len(b)-1] = 'n'
		}
		start = i + 1
	}
	return append(b, s[start:]...)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// longestValue bounds what a transcript says in a label, in bytes; real values have
// some 30.
const longestValue = 128

// tame makes a value for a label of what a transcript says. In transcripts stands
// what whoever works on a project likes, and a server drops a whole scrape for one
// byte that is no UTF-8; what a terminal would obey goes with it.
func tame(s string) string {
	if len(s) <= longestValue && plain(s) {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, s[:min(len(s), 2*longestValue)])
	if len(s) <= longestValue {
		return s
	}
	const more = "…"
	end := longestValue - len(more)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + more
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
