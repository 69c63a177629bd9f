package alerts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// maxTextBytes limits each value that a template computes, and its output.
const maxTextBytes = 4096

var errTooLong = fmt.Errorf("yields more than %d bytes; write a shorter text", maxTextBytes)

// A Template is a text of the configuration in the language of text/template, without
// range, define, block and template: the time of an execution and its memory are
// bounded by the length of the text.
type Template struct{ t *template.Template }

// ParseTemplate parses text. Errors contain name.
func ParseTemplate(name, text string) (*Template, error) {
	t, err := template.New(name).Funcs(template.FuncMap{
		"html":     limited(template.HTMLEscaper),
		"js":       limited(template.JSEscaper),
		"print":    limited(fmt.Sprint),
		"printf":   printf,
		"println":  limited(fmt.Sprintln),
		"urlquery": limited(template.URLQueryEscaper),
	}).Parse(text)
	if err != nil {
		return nil, err
	}
	if len(t.Templates()) > 1 || t.Tree != nil && repeats(t.Root) {
		return nil, errors.New("range, define, block and template are not supported; write the text without them")
	}
	return &Template{t}, nil
}

// Execute returns the text for data. It fails if the text has more than 4096 bytes.
func (t *Template) Execute(data any) (string, error) {
	var b strings.Builder
	if err := t.t.Execute(&b, data); err != nil {
		return "", err
	}
	if b.Len() > maxTextBytes {
		return "", errTooLong
	}
	return b.String(), nil
}

// limited bounds the results of a function, which another function can double.
func limited(f func(...any) string) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		text := f(args...)
		if len(text) > maxTextBytes {
			return "", errTooLong
		}
		return text, nil
	}
}

func printf(format string, args ...any) (string, error) {
	return limited(func(args ...any) string { return fmt.Sprintf(format, args...) })(args...)
}

// repeats reports whether list contains a node that executes others any number of times.
func repeats(list *parse.ListNode) bool {
	if list == nil {
		return false
	}
	return slices.ContainsFunc(list.Nodes, func(node parse.Node) bool {
		switch n := node.(type) {
		case *parse.RangeNode, *parse.TemplateNode:
			return true
		case *parse.IfNode:
			return repeats(n.List) || repeats(n.ElseList)
		case *parse.WithNode:
			return repeats(n.List) || repeats(n.ElseList)
		}
		return false
	})
}
