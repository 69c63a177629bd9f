package handoff

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sm/transcript"
	"sm/transcript/wording"
)

// Channel is a project that documents belong to. The tags are those of the configuration.
type Channel struct {
	Name string `yaml:"name" is:"channel"`
	// Path is the folder of its sessions, including those below.
	Path string `yaml:"path" is:"path" required:"true" unique:"true"`
}

// globalChannel is the channel of sessions whose folder is unknown.
const globalChannel = "global"

// ChannelOf returns the channel of a session that works in dir. It is the
// configured channel with the longest path that is dir or contains it, the
// first of equally long ones; else a channel with the client's own name for the
// project, see [ProjectName]. Paths are cleaned, and symbolic links are not
// followed. If dir is empty, the channel is global.
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
		if transcript.Within(c.Path, dir) && len(c.Path) > len(best.Path) {
			best = c
		}
	}
	if best.Name != "" {
		return best
	}
	return Channel{Name: ProjectName(dir), Path: dir}
}

// maxName limits a channel's name, in bytes. The client has the same limit for
// the names of its project folders.
const maxName = 200

// ProjectName returns the client's name for a project's folder below projects/:
// each UTF-16 unit of the path that is not an ASCII letter or digit becomes a
// dash, so that /a/b and /a-b have the same name. A long name is cut and ends
// in a hash, unlike the client's.
func ProjectName(dir string) string {
	var b strings.Builder
	for _, r := range dir {
		if alphanumeric(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Repeat("-", max(1, utf16.RuneLen(r))))
	}
	return shorten(b.String(), dir, maxName)
}

func alphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// shorten cuts a name to at most most bytes. The last 17 bytes are then a hash
// of whole.
func shorten(name, whole string, most int) string {
	if len(name) <= most {
		return name
	}
	name = strings.ToValidUTF8(name[:most-17], "")
	return fmt.Sprintf("%s-%x", name, sha256.Sum256([]byte(whole)))[:len(name)+17]
}

// safe returns a distinct path element for each name, which may be typed into a
// shell: invisible characters, /, %, characters with a meaning in shells, and a
// leading dot become %XX, byte for byte.
func safe(name string) string {
	if name == "" {
		return "%"
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		broken := r == utf8.RuneError && size == 1
		if broken || i == 0 && r == '.' || !wording.Printable(r) ||
			strings.ContainsRune("/%;|&$<>(){}[]*?!#~'\"`\\@", r) {
			for _, c := range []byte(name[i : i+size]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteString(name[i : i+size])
		}
		i += size
	}
	return b.String()
}

// channelFile returns the prefix of the names of a channel's files.
func channelFile(channel string) string { return shorten(safe(channel), channel, maxName) }

func manifestFile(channel string) string { return channelFile(channel) + ".manifest.json" }

// documentFile returns the name of a document's file. A manifest written by
// another program may have any id, not only a [documentID].
func documentFile(channel, id string) string {
	return channelFile(channel) + "-" + shorten(safe(id), id, idRoom) + ".md"
}

// idRoom limits an id in the name of a file, in bytes.
const idRoom = 32
