package hooks

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

// TestReadAnswerBroken: of an answer that breaks off nothing is given back, be it whole JSON by chance.
func TestReadAnswerBroken(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, text := range map[string]string{
		"to the end": ok + "\r\n{}",
		"a length":   ok + "Content-Length: 3\r\n\r\n{}",
		"a piece":    ok + "Transfer-Encoding: chunked\r\n\r\n3\r\n{}",
		"a line":     ok + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}",
		"pieces":     ok + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
	} {
		r := io.MultiReader(strings.NewReader(text), iotest.ErrReader(os.ErrDeadlineExceeded))
		if got, err := readAnswer(bufio.NewReader(r)); err == nil || got != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
