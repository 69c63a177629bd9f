package config

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Print writes a configuration as a file that loads to the same one.
func (c *Config) Print(w io.Writer) error {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err := errors.Join(encoder.Encode(c), encoder.Close())
	whole := regexp.MustCompile(`(?m)^( *[a-z_]+: [0-9hm]*?[hm])(0m)?0s$`) // 5m, not 5m0s
	_, failed := w.Write(whole.ReplaceAll(text.Bytes(), []byte("$1")))
	return errors.Join(err, failed)
}

// shortDuration writes 5m, not 5m0s.
func shortDuration(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}
