package transcripttest

import (
	"embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed versions
var versions embed.FS

// Versions lists the client versions, oldest first. The empty one writes records
// without version, uuid and time.
func Versions() []string {
	return []string{
		"", "1.0.38", "1.0.112", "1.0.120", "2.0.9", "2.0.76",
		"2.1.17", "2.1.44", "2.1.97", "2.1.197", "2.1.270",
	}
}

// client is a version of the program that writes transcripts.
type client struct {
	version string
	traits  []string
	models  []string
	records map[string][]template
}

// template is a record: texts and names of values in turn.
type template []string

var name = regexp.MustCompile(`\$[a-z]+`)

func newClient(version string) *client {
	file := version
	if version == "" {
		file = "bare"
	}
	data, err := versions.ReadFile("versions/" + file + ".txtar")
	if err != nil {
		panic(err)
	}

	c := &client{version: version, records: map[string][]template{}}
	kind := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		switch name, heading := strings.CutPrefix(line, "-- "); {
		case heading:
			kind = strings.TrimSuffix(name, " --")
		case kind == "client":
			for word := range strings.FieldsSeq(line) {
				if strings.HasPrefix(word, "claude-") {
					c.models = append(c.models, word)
				} else {
					c.traits = append(c.traits, word)
				}
			}
		default:
			c.records[kind] = append(c.records[kind], parse(line))
		}
	}
	return c
}

func parse(line string) (t template) {
	end := 0
	for _, m := range name.FindAllStringIndex(line, -1) {
		t = append(t, line[end:m[0]], line[m[0]+1:m[1]])
		end = m[1]
	}
	return append(t, line[end:])
}

func (t template) has(name string) bool {
	for i := 1; i < len(t); i += 2 {
		if t[i] == name {
			return true
		}
	}
	return false
}

func (c *client) is(trait string) bool { return slices.Contains(c.traits, trait) }

// has reports whether the client writes records of that kind.
func (c *client) has(kind string) bool { return len(c.records[kind]) > 0 }

// quote encodes a string as the client does: only what must be escaped is.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func newUUID(rng *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", rng.Uint32(), rng.Uint32()&0xffff,
		rng.Uint32()&0xfff, rng.Uint32()&0xfff, rng.Uint64()&0xffff_ffff_ffff)
}

func newID(rng *rand.Rand, prefix string) string {
	return prefix + strconv.FormatUint(rng.Uint64()|1<<63, 36)
}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }
