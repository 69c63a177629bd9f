package main_test

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The bars: what is larger has more than one purpose, and is parted.
const (
	layoutMaxLines   = 4500 // of a package, without tests
	layoutMaxFiles   = 30   // of a folder, without tests
	layoutMaxMethods = 30   // of a type
)

// layoutSizes are the lines and files of each package and the methods of each type, by "PACKAGE lines", "PACKAGE files"
// and "PACKAGE.TYPE methods".
func layoutSizes(files []layoutFile) map[string]int {
	sizes := map[string]int{}
	for _, f := range files {
		if f.test() || layoutHidden(f) {
			continue
		}
		sizes[f.pkg()+" lines"] += f.lines
		sizes[f.pkg()+" files"]++
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				sizes[f.pkg()+"."+layoutReceiver(fn)+" methods"]++
			}
		}
	}
	return sizes
}

func layoutReceiver(fn *ast.FuncDecl) string {
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "?"
		}
	}
}

// layoutTooLarge compares sizes with the bars. What is above one may be in larger with the size that it has: it must not
// grow, and when it has shrunk the figure follows.
func layoutTooLarge(sizes, larger map[string]int) []string {
	var wrong []string
	for _, what := range slices.Sorted(maps.Keys(sizes)) {
		n := sizes[what]
		bar := map[string]int{" lines": layoutMaxLines, " files": layoutMaxFiles, " methods": layoutMaxMethods}[what[strings.LastIndexByte(what, ' '):]]
		if limit, known := larger[what]; known && n > limit {
			wrong = append(wrong, fmt.Sprintf("%s: %d, more than the %d of the exception", what, n, limit))
		} else if !known && n > bar {
			wrong = append(wrong, fmt.Sprintf("%s: %d, more than %d: part it", what, n, bar))
		} else if known && n <= bar {
			wrong = append(wrong, fmt.Sprintf("%s: %d is no exception any more: take it out of layoutLarger", what, n))
		}
	}
	for _, what := range slices.Sorted(maps.Keys(larger)) {
		if _, known := sizes[what]; !known {
			wrong = append(wrong, what+" does not exist: take it out of layoutLarger")
		}
	}
	return wrong
}

// layoutLarger are the exceptions, with what they may have.
func layoutLarger() map[string]int {
	return map[string]int{
		// A generator of test data, with a method for each thing that a client does.
		"sm/transcript/transcripttest.Session methods": 86,
		"sm/transcript/transcripttest.client methods":  35,
	}
}

func TestLayoutSizes(t *testing.T) {
	layoutReport(t, layoutTooLarge(layoutSizes(layoutSources(t, layoutRoot(t))), layoutLarger()))
}

func TestLayoutSizesBite(t *testing.T) {
	sources := map[string]string{}
	for i := range layoutMaxFiles {
		sources[fmt.Sprintf("a/%d.go", i)] = "package a\n" + strings.Repeat("\n", layoutMaxLines/layoutMaxFiles-1)
	}
	sources["a/a_test.go"] = "package a\nfunc (t *T) Test() {}\n"
	methods := func(n int) string {
		var b strings.Builder
		b.WriteString("package b\n")
		for i := range n {
			fmt.Fprintf(&b, "func (%s) m%d() {}\n", []string{"x T", "*T", "x T[A]", "x *T[A, B]"}[i%4], i)
		}
		return b.String()
	}
	sources["b/b.go"] = methods(layoutMaxMethods)
	check := func(larger map[string]int) string {
		return strings.Join(layoutTooLarge(layoutSizes(layoutParseAll(t, sources)), larger), "\n")
	}
	if got := check(nil); got != "" {
		t.Errorf("at the bars: %s", got)
	}
	if got, want := check(map[string]int{"sm/b.T methods": 40, "sm/c lines": 5000}),
		"sm/b.T methods: 30 is no exception any more: take it out of layoutLarger\nsm/c lines does not exist: take it out of layoutLarger"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	sources["a/more.go"], sources["b/b.go"] = "package a\n", methods(layoutMaxMethods+1)
	if got, want := check(nil), "sm/a files: 31, more than 30: part it\nsm/a lines: 4501, more than 4500: part it\nsm/b.T methods: 31, more than 30: part it"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	larger := map[string]int{"sm/a files": 31, "sm/a lines": 4501, "sm/b.T methods": 31}
	if got := check(larger); got != "" {
		t.Errorf("exceptions: %s", got)
	}
	larger["sm/b.T methods"] = 30
	if got, want := check(larger), "sm/b.T methods: 31, more than the 30 of the exception"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
