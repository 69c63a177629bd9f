package alerts

import (
	"strings"
	"testing"
	"text/template"
)

func TestTemplateBounds(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		`{{if .}}{{with $x := printf "%s, %d" . 7}}{{$x | html}}{{end}}{{end}}`: true,
		`{{printf "%5000d" 1}}`:                    false,
		strings.Repeat(`{{printf "%4000d" 1}}`, 2): false,
		`{{template "a"}}`:                         false,
		"":                                         true,
	} {
		tmpl, err := template.New("warning").Parse(text)
		if err == nil {
			_, err = Render(tmpl, "name")
		}
		if (err == nil) != ok {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}
