package usage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
)

const manPage = `.TH "{{upper (page .)}}" 1
.SH NAME
{{roff (page .)}} \- {{roff .Short}}
.SH SYNOPSIS
{{roff .UseLine}}
.SH DESCRIPTION
{{paragraphs (roff (or .Long (print .Short ".")))}}
{{with .NonInheritedFlags}}{{if .HasAvailableFlags}}.SH OPTIONS
.nf
{{roff (.FlagUsagesWrapped 72)}}.fi
{{end}}{{end -}}
{{with .InheritedFlags}}{{if .HasAvailableFlags}}.SH EVERYWHERE
.nf
{{roff (.FlagUsagesWrapped 72)}}.fi
{{end}}{{end -}}
{{with .Example}}.SH EXAMPLES
.nf
{{roff .}}
.fi
{{end -}}
{{with also .}}.SH SEE ALSO
{{roff .}}
{{end -}}
`

// WriteMan writes a manual page for each command of a tree into a folder: sm.1,
// sm-status.1 and so on.
func WriteMan(cmd *cobra.Command, dir string) error {
	if cmd.Hidden {
		return nil
	}
	page := template.Must(template.New("").Funcs(template.FuncMap{
		"upper":      strings.ToUpper,
		"page":       pageName,
		"roff":       roff,
		"paragraphs": func(text string) string { return strings.ReplaceAll(text, "\n\n", "\n.PP\n") },
		"also":       seeAlso,
	}).Parse(manPage))
	cmd.InitDefaultHelpFlag()
	var text bytes.Buffer
	err := errors.Join(page.Execute(&text, cmd), os.MkdirAll(dir, 0o755))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, pageName(cmd)+".1"), text.Bytes(), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the manual pages: %w; name a folder that you may write to", err)
	}
	for _, sub := range cmd.Commands() {
		if err := WriteMan(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

func seeAlso(cmd *cobra.Command) string {
	var names []string
	for _, c := range append([]*cobra.Command{cmd.Parent()}, cmd.Commands()...) {
		if c != nil && !c.Hidden {
			names = append(names, pageName(c)+"(1)")
		}
	}
	return strings.Join(names, ", ")
}

func pageName(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "-")
}

// roff writes a text so that roff shows it unchanged.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	return regexp.MustCompile(`(?m)^[.']`).ReplaceAllString(text, `\&$0`)
}
