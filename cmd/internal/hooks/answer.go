package hooks

import (
	"bytes"
	"errors"
	"io"
)

// maxAnswer bounds the observer's answer: 9 500 characters, however they are spelled.
const maxAnswer = 128 << 10

var errNoAnswer = errors.New("no answer of an observer")

// readAnswer reads the body of an HTTP/1.0 response that is a success: it ends
// with the connection. Anything else is an error.
func readAnswer(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	head, body, whole := bytes.Cut(text, []byte("\r\n\r\n"))
	status, success := bytes.CutPrefix(head, []byte("HTTP/1.0 2"))
	if !whole || !success || len(status) < 2 || len(text) > maxAnswer {
		return nil, errNoAnswer
	}
	return body, nil
}
