package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Print writes a configuration as a file that loads to the same one.
func (c *Config) Print(w io.Writer) error {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err := errors.Join(encoder.Encode(c), encoder.Close())
	lines := text.String()
	for _, s := range c.settings() {
		if s.value.Type() == durationType {
			_, name, _ := strings.Cut(s.path, ".")
			key := "\n  " + name + ": " // texts are indented further
			lines = strings.ReplaceAll(lines, key+fmt.Sprint(s.value), key+s.show())
		}
	}
	_, failed := io.WriteString(w, lines)
	return errors.Join(err, failed)
}
