package hooks

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

// TestReadAnswer: an observer's answer is read however a server of HTTP/1.1 may write it, and what is no whole answer is none.
// What net/http makes of the same bytes is the judge.
func TestReadAnswer(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, text := range map[string]string{
		"with a length":        ok + "Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}",
		"more than its length": ok + "content-length:7\r\n\r\n{\"a\":1}rest",
		"empty":                ok + "Content-Length: 0\r\n\r\n",
		"to the end":           ok + "Connection: close\r\n\r\n{\"a\":1}",
		"HTTP/1.0":             "HTTP/1.0 200 OK\r\n\r\n{}",
		"no content":           "HTTP/1.1 204 No Content\r\n\r\n",
		"accepted":             "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}",
		"in pieces":            ok + "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4;x=y\r\n\":1}\r\n0\r\n\r\n",
		"lines without \\r":    "HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
		"longest":              ok + "\r\n" + strings.Repeat("x", maxAnswer),
		"a refusal":            "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\n{}",
		"moved":                "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 2\r\n\r\n{}",
		"cut off":              ok + "Content-Length: 8\r\n\r\n{\"a\":1}",
		"cut off in a piece":   ok + "Transfer-Encoding: chunked\r\n\r\n9\r\n{\"a\"",
		"cut off at a piece":   ok + "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n",
		"piece too long":       ok + "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"a\"\r\n0\r\n\r\n",
		"cut off in the head":  ok + "Content-Length: 2\r\n",
		"no length":            ok + "Content-Length: two\r\n\r\n{}",
		"negative":             ok + "Content-Length: -1\r\n\r\n{}",
		"nothing":              "",
		"not HTTP":             "SSH-2.0-OpenSSH_9.9\r\n",
		"no status":            "HTTP/1.1\r\n\r\n",
	} {
		got, err := readAnswer(bufio.NewReader(strings.NewReader(text)))
		var want []byte
		response, wantErr := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
		if wantErr == nil {
			if want, wantErr = io.ReadAll(response.Body); response.StatusCode/100 != 2 {
				wantErr = errNoAnswer
			}
		}
		if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want) {
			t.Errorf("%s: %.40q, %v; net/http has %.40q, %v", name, got, err, want, wantErr)
		}
	}
	for name, text := range map[string]string{
		"to the end": ok + "\r\n" + strings.Repeat("x", maxAnswer+1),
		"a length":   ok + "Content-Length: 131073\r\n\r\n" + strings.Repeat("x", maxAnswer+1),
		"pieces": ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat(
			"8000\r\n"+strings.Repeat("x", 0x8000)+"\r\n",
			5,
		) + "0\r\n\r\n",
		"huge":     ok + "Content-Length: 9223372036854775807\r\n\r\n{}",
		"a header": ok + "X: " + strings.Repeat("x", 5000) + "\r\n\r\n{}",
	} {
		if got, err := readAnswer(bufio.NewReader(strings.NewReader(text))); err == nil {
			t.Errorf("too long, %s: %d bytes", name, len(got))
		}
	}
}

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
