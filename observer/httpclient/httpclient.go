// Package httpclient creates HTTP clients for servers of the Prometheus family
// from a file in their format: http_config with authorization, basic_auth,
// tls_config, proxy_url. Files with oauth2 are refused: tokens would be fetched
// by a client that follows redirects and ignores contexts.
//
// Invariants: redirects are not followed, as they would send a token to another
// server; answers are limited ([Get]); files that the configuration refers to,
// such as a token, are read again when they change; errors are one line and
// contain no secret. The client has no timeout: each request must have a
// context that ends.
package httpclient

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/prometheus/common/config"

	"sm/handoff/files"
)

// New returns a client. Without a file it sends no token and trusts the
// system's certificate authorities.
func New(file string) (*http.Client, error) {
	c := &config.HTTPClientConfig{EnableHTTP2: true}
	if file != "" {
		text, err := files.ReadSmall(file)
		if err == nil {
			c, err = config.LoadHTTPConfig(string(text))
		}
		if err != nil {
			return nil, fmt.Errorf(
				"read %s: %w; write it as Prometheus has it, such as 'authorization: {credentials_file: token}'",
				file,
				OneLine(WithoutValues(err)),
			)
		}
		c.SetDirectory(filepath.Dir(file))
	}
	if c.OAuth2 != nil {
		return nil, fmt.Errorf(
			"read %s: oauth2 is not supported; let something else fetch the token, and name it by 'authorization: {credentials_file: token}'",
			file,
		)
	}
	c.FollowRedirects = false
	client, err := config.NewClientFromConfig(*c, "sm")
	if err != nil {
		return nil, fmt.Errorf("use %s: %w; see the files that it names", file, OneLine(err))
	}
	return client, nil
}

// Shown returns an address for errors, without the part before an @, which may
// be a password.
func Shown(address string) string {
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		return "…" + address[i:]
	}
	return address
}

// WithoutValues removes quotations of a YAML file from an error, such as a
// token that is alone in the file or in the place of a key. The line number
// remains.
func WithoutValues(err error) error {
	quoted := regexp.MustCompile("(?s)(cannot unmarshal \\S+ )`.*?`( into)|(field ).*?( not found in type)|(anchor )'[^']*'|\"(?:[^\"\\\\]|\\\\.)*\"")
	if text := err.Error(); quoted.MatchString(text) {
		return errors.New(quoted.ReplaceAllString(text, "${1}${3}${5}…${2}${4}"))
	}
	return err
}

// OneLine returns an error with the text in one line. Errors of YAML have
// several.
func OneLine(err error) error {
	if text := err.Error(); strings.ContainsAny(text, "\r\n") {
		return errors.New(strings.Join(strings.Fields(text), " "))
	}
	return err
}
