package hooks

import (
	"bytes"
	"io"
)

// maxAnswer limits the observer's answer, in bytes: 9,500 characters in any
// encoding.
const maxAnswer = 128 << 10

// readAnswer reads the body of an HTTP/1.0 response, which ends with the
// connection. ok is false unless the response is a success.
func readAnswer(r io.Reader) (body []byte, ok bool) {
	text, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	head, body, whole := bytes.Cut(text, []byte("\r\n\r\n"))
	status, success := bytes.CutPrefix(head, []byte("HTTP/1.0 2"))
	return body, err == nil && whole && success && len(status) >= 2 && len(text) <= maxAnswer
}
