package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
	"time"
	"unicode"

	"sm/dashboards/screen/plain"
	"sm/observer/socket"
)

// maxTexts limits the length of a message template, in bytes.
const maxTexts = 4096

// check compares every value with the rules in its tags. It returns the path of
// the first wrong value and what it must be, or "" if all are valid.
func (c *Config) check() (path, fault string) {
	for _, key := range c.settings() {
		seen := map[string]bool{}
		for _, s := range key.values() {
			value := s.show()
			fault := s.problem()
			if fault == "" && s.tag.Get("unique") != "" && seen[value] {
				fault = "repeats " + value + "; remove one of the two"
			}
			if fault != "" {
				return s.path, fault
			}
			seen[value] = true
		}
	}
	return "", ""
}

// show formats a value for an error. It hides addresses, which may have a
// password, and paths of secrets, which may be the secret itself by mistake.
func (s setting) show() string {
	if strings.HasSuffix(s.path, "_file") || s.tag.Get("is") == "url" {
		return "the present one"
	}
	return shown(s.value)
}

func shown(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(x.String()) // 5m, not 5m0s
	case string:
		return plain.Quote(x)
	}
	return fmt.Sprint(v)
}

// problem returns what is wrong with a value, or "".
func (s setting) problem() string {
	text := ""
	if s.value.Kind() == reflect.String {
		text = s.value.String()
	}
	words := s.tag.Get("oneof")
	if words != "" && !slices.Contains(strings.Split(words, ","), text) {
		return "must be one of " + strings.ReplaceAll(words, ",", ", ") + ", not " + s.show()
	}
	if fault := s.outside(); fault != "" {
		return fault
	}
	switch s.tag.Get("is") {
	case "path":
		return s.wrongPath(text)
	case "template":
		return wrongTemplate(text)
	case "loopback":
		if !loopback(text) {
			return "must be a loopback address with its port such as 127.0.0.1:8420, not " + s.show() +
				"; use metrics.listen for scrapes from elsewhere"
		}
	case "url":
		if u, err := url.Parse(text); err != nil || u.Host == "" ||
			u.Scheme != "http" && u.Scheme != "https" {
			return "must be an address such as http://127.0.0.1:9090"
		}
	}
	for _, rule := range []struct{ is, pattern, must string }{
		{
			"address",
			`^(|[^\s/@?#*\pC]*:([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))$`,
			"an address with its port such as 0.0.0.0:9464",
		},
		{"host", `^[^\s/@?#*\pC]+$`, "a host, or host:port, as in a URL"},
		{"label", `^\PC*$`, "the value of a label, without control characters"},
		{
			"server",
			`^([-_.A-Za-z0-9]{2,}|[-_.A-Za-z02-9])$`,
			"a name of letters, digits, dots and dashes, other than 1",
		},
		{"name", `\S`, "a name, which is not empty"},
		{"argument", `^[^\x00]*$`, "a program or its argument"},
		{
			"channel",
			`^[^./\\\pC][^/\\\pC]{0,99}$`,
			"short, without slashes and without a dot in front, as it is part of file names",
		},
	} {
		if s.tag.Get("is") == rule.is && !regexp.MustCompile(rule.pattern).MatchString(text) {
			return "must be " + rule.must + ", not " + s.show()
		}
	}
	if s.path == "operator.notify[0]" && text == "" {
		return "is empty; give a program"
	}
	return s.above()
}

// outside returns an error text for a number or a duration outside its bounds,
// or "".
func (s setting) outside() string {
	bounds, strict := strings.CutPrefix(s.tag.Get("bounds"), ">")
	least, most, _ := strings.Cut(bounds, "..")
	number := func(text string) (f float64) {
		f, _ = strconv.ParseFloat(text, 64)
		return f
	}
	if s.value.Type() == durationType {
		most = "87600h"
		number = func(text string) float64 {
			d, _ := ParseDuration(text)
			return float64(d)
		}
	}
	if most == "" {
		return ""
	}
	least = cmp.Or(least, "0")
	low := number(least)
	v := number(fmt.Sprint(s.value))
	if (v > low || v == low && !strict) && v <= number(most) {
		return ""
	}
	word := "at least"
	if strict {
		word = "above"
	}
	return fmt.Sprintf("must be %s %s and at most %s, not %s", word, least, most, s.show())
}

// above returns an error text for a value that is not below the key in its tag,
// or "". A limit of 0 means that there is none.
func (s setting) above() string {
	name := s.tag.Get("below")
	if name == "" {
		return ""
	}
	for field, limit := range s.group.Fields() {
		if field.Tag.Get("yaml") == name && limit.Int() > 0 && s.value.Int() >= limit.Int() {
			return fmt.Sprintf(
				"is %s and must be below %s, which is %s",
				s.show(),
				name,
				shown(limit),
			)
		}
	}
	return ""
}

// loopback reports whether an address can only refer to this machine. A name
// other than localhost may resolve to any address. The port must be a number:
// names of ports differ between machines.
func loopback(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" ||
		err == nil && ip.IsLoopback() && !ip.Is4In6() && ip.Zone() == ""
}

// wrongPath returns what is wrong with a path, or "". An empty path is valid
// unless it is required.
func (s setting) wrongPath(path string) string {
	switch {
	case path == "" && s.tag.Get("required") == "":
	case !filepath.IsAbs(path) || strings.ContainsFunc(path, unicode.IsControl):
		return "must be an absolute path, or begin with ~/, not " + s.show()
	case s.path == "socket" && len(path) > socket.MaxPath:
		return fmt.Sprintf("is %d bytes long and a socket's path has room for %d; give a shorter one",
			len(path), socket.MaxPath)
	}
	return ""
}

// wrongTemplate returns what is wrong with the syntax of a template, or "". The
// code that executes a template checks the names in it.
func wrongTemplate(text string) string {
	if len(text) > maxTexts {
		return fmt.Sprintf("is %d bytes long; use at most %d", len(text), maxTexts)
	}
	tree := parse.New("")
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(text, "", "", map[string]*parse.Tree{}); err != nil {
		return fmt.Sprintf("is not a template (%s); correct what is in {{ }}",
			plain.Line(strings.TrimPrefix(err.Error(), "template: :")))
	}
	return ""
}
