package httpclient

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestBounded tests that a large answer is cut off with an error.
func TestBounded(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 1000))
	}))
	t.Cleanup(web.Close)
	client, err := New("")
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	for most, whole := range map[int64]bool{999: false, 1000: true, 1001: true} {
		_, body, err := Get(t.Context(), client, web.URL, most)
		if _, cut := errors.AsType[*http.MaxBytesError](err); cut == whole ||
			int64(len(body)) > most {
			t.Errorf("at most %d: %d bytes, %v", most, len(body), err)
		}
	}
	resp, _, err := Get(t.Context(), client, web.URL+"/away", 1000)
	if err != nil || resp.StatusCode != http.StatusFound {
		t.Errorf("a redirect is followed: %v, %v", resp, err)
	}
}

// TestNewRefuses tests that errors are one line, end with the remedy and contain no secret.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"typo": "authorisation: {credentials: hunter2}\nand: more\n", "no YAML": "{", "two ways": "bearer_token: hunter2\nbasic_auth: {username: a, password: hunter2}\n",
		"a token from a server": "oauth2: {client_id: a, client_secret: hunter2, token_url: http://127.0.0.1:1/}\n",
		"a token alone":         "hunter2", "a long token": "hunter2andmore\n", "a token of two lines": "|\n  hun`\n  ter2\n", "a token like an alias": "*hunter2\n",
		"a token for a group": "authorization: hunter2\ntls_config: hunter2\n", "no address": "proxy_url: \"http://me:hunter2@ho st\"\n", "no port": "proxy_url: http://me:hunter2\n",
		"a token for a key": "hunter2: {hunter: 2}\n", "a token for a key below": "authorization:\n  ? |\n    hun\n    ter2\n  :\nhunter2: 1\n",
		"no such authority": "tls_config: {ca_file: nowhere.pem}\n",
	} {
		path := filepath.Join(t.TempDir(), "http.yml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := New(path)
		if err == nil || strings.ContainsAny(err.Error(), "\r\n") ||
			strings.Contains(err.Error(), "hun") ||
			!strings.Contains(err.Error(), "; ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOddFiles tests that a configuration must be a regular file of at most 1 MiB.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, odd := range []string{fifo, large, dir, os.DevNull, "/dev/zero"} {
		if _, err := New(odd); err == nil {
			t.Errorf("New(%s) = nil, want an error", odd)
		}
	}
}
