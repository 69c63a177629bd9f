package tmux

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// count returns a number of trials: the usual one, or the variable's.
func count(t *testing.T, variable string, usual int) int {
	t.Helper()
	if v := os.Getenv(variable); v != "" {
		n, err := strconv.Atoi(v)
		noError(t, err)
		return n
	}
	return usual
}

// hostile returns texts with sequences that have affected terminals, shells, tmux and
// clients.
func hostile(random *rand.Rand) string {
	pieces := []string{
		"\x1b[201~", "\x1b[200~", "\u009b201~", "\r", "\n", "\x03", "\x1a", "\x1b", "\x7f",
		"\x00", "\x1b]0;title\x07", "\x1b[c", "\u0085", "\u2028", "\t", "\f",
		"\u202eabc\u202c", "\u200b", "\u200d", "\U000e0041", "\ue000", "\xff\xfe", "\xed\xa0\x80", "\ufe0f",
		"!ls", "/exit", "@/etc/passwd", "\\", "; kill-server", ";", "#(touch PWN)", "#{pane_pid}", "$(touch PWN)", "`touch PWN`",
		"%0", "-t", "--", "'", "\"", "||", "~", "C-c", "Enter",
		"[Pasted text #1]", "❯ 1. Yes", "Enter to confirm · Esc to cancel", "-- NORMAL --", strings.Repeat(
			"─",
			90,
		), "│", "╰───────────╯",
		"naïve", "nai\u0308ve", " \u0301", "文字列です", "עברית", "ไทย", "🙂", "👩\u200d💻", "☂\ufe0f",
		"a", "word", "   ", "0123456789", strings.Repeat(
			"x",
			300,
		), strings.Repeat(
			"long ",
			200,
		),
	}
	var b strings.Builder
	for range 1 + random.IntN(12) {
		b.WriteString(pieces[random.IntN(len(pieces))])
		if random.IntN(2) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// wire returns the bytes that a client must get for texts: one bracketed paste and one Enter
// each.
func wire(texts []string) []byte {
	var b bytes.Buffer
	for _, text := range texts {
		fmt.Fprintf(&b, "\x1b[200~%s\x1b[201~\r", text)
	}
	return b.Bytes()
}

func (a *agent) bytes() []byte {
	a.r.t.Helper()
	raw, err := os.ReadFile(filepath.Join(a.dir, "raw"))
	noError(a.r.t, err)
	return raw
}

// TestHostileTexts types texts made to break out; SM_TEXTS is their number.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	const panes = 3
	r := newRig(t, pace{})
	n := count(t, "SM_TEXTS", 90)
	var wg sync.WaitGroup
	for i := range panes {
		a := r.startWindow()
		a.reaches(ReasonNone)
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			var texts []string
			for j := i; j < n; j += panes {
				text := Sanitise("[sm from x] " + hostile(random) + fmt.Sprintf(" #%06x", j))
				texts = append(texts, text)
				err := a.typed(text)
				for err != nil && !PastedIn(err) &&
					!ReasonOf(err).Final() { // the box still shows the previous text
					err = a.typed(text)
				}
				if err != nil {
					t.Errorf("text %d, %q: %v", j, text, err)
					return
				}
			}
			a.r.until(
				"all are read",
				func() bool { return bytes.Count(a.bytes(), []byte("\r")) >= len(texts) },
			)
			if got, want := a.bytes(), wire(texts); !bytes.Equal(got, want) {
				t.Errorf(
					"%d texts came otherwise: %.300q, want %.300q",
					len(texts),
					got,
					want,
				)
			}
		})
	}
	wg.Wait()
	if !t.Failed() {
		t.Logf("%d texts, byte for byte", n)
	}
	r.noBuffers()
	if _, err := os.Stat("PWN"); err == nil { // the folder in which tmux was started
		t.Error("part of a text was run as a command")
	}
}
