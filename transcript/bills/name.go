package bills

import (
	"bytes"
	"encoding/json"
	"strings"
)

// nameBytes limits the name of a file.
const nameBytes = 120

// nameOf returns the name of a file in a bill: its path below the folder, else
// its last element. path is as the line writes it.
func nameOf(path, folder []byte) string {
	name := string(path)
	if bytes.IndexByte(path, '\\') >= 0 &&
		json.Unmarshal([]byte(`"`+name+`"`), &name) != nil {
		return ""
	}
	name = strings.ReplaceAll(name, `\`, "/")
	rest, below := strings.CutPrefix(
		name,
		strings.TrimRight(strings.ReplaceAll(string(folder), `\`, "/"), "/")+"/",
	)
	if below && len(folder) > 0 && len(rest) <= nameBytes && !strings.Contains(rest, "..") {
		return rest
	}
	last := name[strings.LastIndexByte(name, '/')+1:]
	return strings.ToValidUTF8(last[max(0, len(last)-nameBytes):], "")
}
