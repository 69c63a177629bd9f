package alerts

import (
	"strings"
	"testing"
)

// TestTemplateBounds guards that no text takes more time or memory than its length allows.
func TestTemplateBounds(t *testing.T) {
	t.Parallel()
	double := strings.Repeat("{{$a = print $a $a}}", 60)
	for text, ok := range map[string]bool{
		`{{if .}}{{with $x := printf "%s, %d" . 7}}{{$x | html}}{{end}}{{end}}`:  true,
		`{{range $i := 1000000000000}}x{{end}}`:                                  false,
		`{{if .}}{{else}}{{with .}}{{range 1000000000000}}{{end}}{{end}}{{end}}`: false,
		`{{define "a"}}{{template "a" .}}{{template "a" .}}{{end}}`:              false,
		`{{block "a" .}}{{end}}`:                                                 false,
		`{{template "a"}}`:                                                       false,
		`{{$a := "x"}}` + double:                                                 false,
		`{{$a := "<"}}` + strings.Repeat("{{$a = html $a $a}}", 60):              false,
		`{{printf "%5000d" 1}}`:                                                  false,
		strings.Repeat(`{{printf "%4000d" 1}}`, 2):                               false,
		"": true,
	} {
		tmpl, err := ParseTemplate("warning", text)
		if err == nil {
			_, err = tmpl.Execute("name")
		}
		if (err == nil) != ok {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}
