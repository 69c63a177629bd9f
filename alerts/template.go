package alerts

import (
	"fmt"
	"strings"
	"text/template"
)

// maxTextBytes limits the output of a template.
const maxTextBytes = 4096

// A Template is a text of the configuration in the language of text/template.
type Template struct{ t *template.Template }

// ParseTemplate parses text. Errors contain name.
func ParseTemplate(name, text string) (*Template, error) {
	t, err := template.New(name).Parse(text)
	return &Template{t}, err
}

// Execute returns the text for data. It fails if the text has more than 4096 bytes.
func (t *Template) Execute(data any) (string, error) {
	var b strings.Builder
	err := t.t.Execute(&b, data)
	if err == nil && b.Len() > maxTextBytes {
		err = fmt.Errorf("yields more than %d bytes; write a shorter text", maxTextBytes)
	}
	return b.String(), err
}
