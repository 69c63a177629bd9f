package hooks

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"strconv"
	"strings"
)

// maxAnswer bounds the observer's answer: 9 500 characters, however they are spelled.
const maxAnswer = 128 << 10

var errNoAnswer = errors.New("no answer of an observer")

// readAnswer reads the body of an HTTP/1.1 response that is a success. Everything else is an error and no
// body: another status, a body that is cut off, or one that is too long.
func readAnswer(r *bufio.Reader) ([]byte, error) {
	status, err := readLine(r)
	if err != nil {
		return nil, err
	}
	version, code, _ := strings.Cut(status, " ")
	if !strings.HasPrefix(version, "HTTP/1.") || len(code) < 3 || code[0] != '2' {
		return nil, errNoAnswer
	}
	length := ""
	chunked := false
	for {
		header, err := readLine(r)
		if err != nil {
			return nil, err
		}
		if header == "" {
			break
		}
		name, value, _ := strings.Cut(header, ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(name) {
		case "content-length":
			length = value
		case "transfer-encoding":
			chunked = strings.EqualFold(value, "chunked")
		}
	}
	switch {
	case strings.HasPrefix(code, "204"):
		return nil, nil
	case chunked:
		return readChunks(r)
	case length != "":
		return readBytes(nil, r, length, 10)
	}
	body, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err != nil || len(body) > maxAnswer {
		return nil, cmp.Or(err, errNoAnswer)
	}
	return body, nil
}

// readChunks reads a body that comes in pieces, each with its length before it, in hexadecimal digits. The last one is empty.
func readChunks(r *bufio.Reader) (body []byte, err error) {
	for {
		size, err := readLine(r)
		if err != nil {
			return nil, err
		}
		size, _, _ = strings.Cut(size, ";")
		before := len(body)
		if body, err = readBytes(body, r, strings.TrimSpace(size), 16); err != nil || len(body) == before {
			return body, err
		}
		if end, err := readLine(r); err != nil || end != "" {
			return nil, errors.Join(errNoAnswer, err)
		}
	}
}

// readBytes appends as many bytes to a body as length says.
func readBytes(body []byte, r io.Reader, length string, base int) ([]byte, error) {
	n, err := strconv.ParseUint(length, base, 31)
	if err != nil || len(body)+int(n) > maxAnswer {
		return nil, errNoAnswer
	}
	body = append(body, make([]byte, n)...)
	if _, err := io.ReadFull(r, body[len(body)-int(n):]); err != nil {
		return nil, err
	}
	return body, nil
}

// readLine reads a line without its end. One that is longer than the reader's buffer is an error.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	return strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"), err
}
