package handoff

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf16"
)

// Channel is a project that documents belong to.
type Channel struct {
	Name string
	// Path is the folder of its sessions, including those below.
	Path string
}

// globalChannel is for sessions whose folder is not known.
const globalChannel = "global"

// ChannelOf returns the channel of a session that works in dir: the configured one with the
// longest path that is dir or contains it, the first of equal ones; else the client's own name
// for the project, see [ProjectName]. Paths are cleaned, and symbolic links are not followed.
// Without dir the channel is global.
func ChannelOf(configured []Channel, dir string) Channel {
	if dir == "" {
		return Channel{Name: globalChannel}
	}
	dir = filepath.Clean(dir)
	best := Channel{}
	for _, c := range configured {
		if c.Name == "" || c.Path == "" {
			continue
		}
		c.Path = filepath.Clean(c.Path)
		if within(dir, c.Path) && len(c.Path) > len(best.Path) {
			best = c
		}
	}
	if best.Name != "" {
		return best
	}
	return Channel{Name: ProjectName(dir), Path: dir}
}

// within reports whether a cleaned path is dir or below it.
func within(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(dir, "/"))
}

// maxName limits a channel's name, in bytes, as the client limits the names of its project
// folders.
const maxName = 200

// ProjectName is a path as the client names its folders below projects/: each UTF-16 unit that
// is not an ASCII letter or digit becomes a dash, so that /a/b and /a-b have one name. A long
// name is cut and ends in a hash, unlike the client's.
func ProjectName(dir string) string {
	var b strings.Builder
	for _, r := range dir {
		if alphanumeric(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Repeat("-", max(1, utf16.RuneLen(r))))
	}
	return shorten(b.String(), dir)
}

func alphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// shorten cuts an ASCII name to maxName bytes, the last 17 of them from a hash of the whole.
func shorten(name, whole string) string {
	if len(name) <= maxName {
		return name
	}
	return fmt.Sprintf("%s-%x", name[:maxName-17], sha256.Sum256([]byte(whole)))[:maxName]
}

// manifestFile is the name of a channel's manifest.
func manifestFile(channel string) string {
	return shorten(url.PathEscape(channel), channel) + ".manifest.json"
}
