// Package httpclient makes HTTP clients for servers of the Prometheus family by
// a file as these servers have them: http_config with authorization,
// basic_auth, tls_config, proxy_url. Files with oauth2 are refused: tokens
// would be fetched by a client that follows redirects and heeds no context.
//
// Invariants: redirects are not followed, for they would take a token to
// wherever they lead; answers are bounded; what the file refers to, such as a
// token, is read again when it changes; errors are one line and show no secret.
// The client has no timeout of its own: each request must have a context that
// ends.
package httpclient

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/prometheus/common/config"
)

// New makes a client whose answers have so many bytes at most. Without a file
// it shows no token and trusts the authorities of the system.
func New(file string, answerBytes int64) (*http.Client, error) {
	c := &config.HTTPClientConfig{EnableHTTP2: true}
	if file != "" {
		var err error
		if c, err = load(file); err == nil {
			err = c.Validate()
		}
		if err != nil {
			return nil, fmt.Errorf(
				"read %s: %w; write it as Prometheus has it, such as 'authorization: {credentials_file: token}'",
				file,
				OneLine(WithoutValues(err)),
			)
		}
	}
	if c.OAuth2 != nil {
		return nil, fmt.Errorf(
			"read %s: oauth2 is not supported; let something else fetch the token, and name it by 'authorization: {credentials_file: token}'",
			file,
		)
	}
	c.FollowRedirects = false
	files := filesOf(c)
	if err := checkFiles(files...); err != nil {
		return nil, fmt.Errorf("use %s: %w", file, err)
	}
	client, err := config.NewClientFromConfig(*c, "sm")
	if err != nil {
		return nil, fmt.Errorf("use %s: %w; see the files that it names", file, OneLine(err))
	}
	client.Transport = bounded{client.Transport, answerBytes, files}
	return client, nil
}

func load(file string) (*config.HTTPClientConfig, error) {
	text, err := ReadFile(file)
	if err != nil {
		return nil, err
	}
	c, err := config.LoadHTTPConfig(string(text))
	if err != nil {
		return nil, err
	}
	c.SetDirectory(filepath.Dir(file))
	return c, nil
}

// filesOf lists the files that the client reads again, some of them for each request.
func filesOf(c *config.HTTPClientConfig) []string {
	files := []string{c.TLSConfig.CAFile, c.TLSConfig.CertFile, c.TLSConfig.KeyFile}
	if c.Authorization != nil {
		files = append(files, c.Authorization.CredentialsFile)
	}
	if c.BasicAuth != nil {
		files = append(files, c.BasicAuth.UsernameFile, c.BasicAuth.PasswordFile)
	}
	if c.HTTPHeaders != nil {
		for _, header := range c.HTTPHeaders.Headers {
			files = append(files, header.Files...)
		}
	}
	return slices.DeleteFunc(files, func(file string) bool { return file == "" })
}

// maxFileBytes limits the files that a configuration names.
const maxFileBytes = 1 << 20

// ReadFile reads a regular file of at most 1 MiB without waiting for a writer, as
// opening a FIFO does. Errors do not contain the name.
func ReadFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, withoutPath(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, withoutPath(err)
	}
	if len(text) > maxFileBytes {
		return nil, errors.New("larger than 1 MiB")
	}
	return text, nil
}

// checkFiles reports the first of the files that exists and that ReadFile cannot read.
func checkFiles(paths ...string) error {
	for _, path := range paths {
		if _, err := ReadFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read %s: %w; name a readable file of at most 1 MiB", path, err)
		}
	}
	return nil
}

func withoutPath(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

// Shown is an address as errors may name it: without the part before an @,
// which may be a password.
func Shown(address string) string {
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		return "…" + address[i:]
	}
	return address
}

// WithoutValues removes quotations of a YAML file from an error, such as a token that
// is alone in the file or in the place of a key. The line is still named.
func WithoutValues(err error) error {
	quoted := regexp.MustCompile("(?s)(cannot unmarshal \\S+ )`.*?`( into)|(field ).*?( not found in type)|(anchor )'[^']*'|\"(?:[^\"\\\\]|\\\\.)*\"")
	if text := err.Error(); quoted.MatchString(text) {
		return errors.New(quoted.ReplaceAllString(text, "${1}${3}${5}…${2}${4}"))
	}
	return err
}

// OneLine is an error whose text has no line breaks, as those of YAML have them.
func OneLine(err error) error {
	if text := err.Error(); strings.ContainsAny(text, "\r\n") {
		return errors.New(strings.Join(strings.Fields(text), " "))
	}
	return err
}

// bounded cuts answers off that are too large. Before each request it checks the
// files that the RoundTripper reads: opening a FIFO would ignore the request's context.
type bounded struct {
	http.RoundTripper
	most  int64
	files []string
}

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := checkFiles(b.files...); err != nil {
		return nil, err
	}
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, b.most)
	}
	return resp, err
}

// CloseIdleConnections passes on what the client asks of its transport.
func (b bounded) CloseIdleConnections() {
	if c, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
