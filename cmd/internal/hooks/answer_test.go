package hooks

import (
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

// TestReadAnswer tests that an incomplete answer of an observer counts as none.
func TestReadAnswer(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.0 200 OK\r\n"
	for name, tt := range map[string]struct{ text, want string }{
		"an answer": {
			ok + "Content-Type: application/json\r\n\r\n{\"a\":1}",
			`{"a":1}`,
		},
		"no content":          {"HTTP/1.0 204 No Content\r\n\r\n", ""},
		"a refusal":           {"HTTP/1.0 403 Forbidden\r\n\r\n{}", "error"},
		"moved":               {"HTTP/1.0 302 Found\r\nLocation: /x\r\n\r\n{}", "error"},
		"cut off in the head": {ok + "Content-Length: 2\r\n", "error"},
		"nothing":             {"", "error"},
		"not HTTP":            {"SSH-2.0-OpenSSH_9.9\r\n\r\n", "error"},
		"too long":            {ok + "\r\n" + strings.Repeat("x", maxAnswer), "error"},
	} {
		got, whole := readAnswer(strings.NewReader(tt.text))
		if !whole {
			got = []byte("error")
		}
		if string(got) != tt.want {
			t.Errorf("%s: got %.40q, want %q", name, got, tt.want)
		}
	}
	broken := io.MultiReader(
		strings.NewReader(ok+"\r\n{}"),
		iotest.ErrReader(os.ErrDeadlineExceeded),
	)
	if got, whole := readAnswer(broken); whole {
		t.Errorf("incomplete answer: got %q, want none", got)
	}
}
