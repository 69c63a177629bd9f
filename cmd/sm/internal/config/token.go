package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"sm/handoff/files"
)

// maxToken and minToken limit the length of a token, in bytes.
const maxToken, minToken = 4096, 16

// ErrTokenExposed means that other users can read, change or replace the token,
// so they could send false alerts. The observer then runs without the route.
var ErrTokenExposed = errors.New("others may know it")

// WebhookToken returns the token that Alertmanager sends, "" if no file is
// configured. The file must be a regular file of this user without access for
// others.
func (c *Config) WebhookToken() (string, error) {
	path := c.HTTP.WebhookTokenFile
	if path == "" {
		return "", nil
	}
	text, err := readToken(path)
	if err != nil {
		return "", fmt.Errorf("http.webhook_token_file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minToken || len(token) > maxToken ||
		strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf(
			"http.webhook_token_file: %s holds no token; put one line of %d to %d printable ASCII characters there",
			path,
			minToken,
			maxToken,
		)
	}
	return token, nil
}

func readToken(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf(
			"%s: %w; give the name of an existing file",
			path,
			errors.Unwrap(err),
		)
	}
	mode := info.Mode()
	switch {
	case !mode.IsRegular():
		return nil, fmt.Errorf(
			"%s is not a regular file, %w; put the token into one of mode 0600",
			path,
			ErrTokenExposed,
		)
	case !files.Own(info):
		return nil, fmt.Errorf("%s belongs to another user than uid %d, %w; run chown %[2]d %[1]s and put a new token there",
			path, os.Geteuid(), ErrTokenExposed)
	case mode.Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s has mode %04o, %w; run chmod 600 %[1]s and put a new token there",
			path, mode.Perm(), ErrTokenExposed)
	}
	text, err := files.ReadSmall(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; give a readable file", path, err)
	}
	return text, nil
}
