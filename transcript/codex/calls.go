package codex

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"sm/transcript"
)

// callsOf returns the actions of a record: a command, or each changed file. The
// client has no tool that reads a file, so a command that only reads one counts
// as one. A script does not count, because its actions have items of their own.
func callsOf(r *record, folder string) []transcript.Call {
	switch r.kind {
	case patched:
		var changes map[string]struct{}
		if json.Unmarshal(r.input, &changes) != nil {
			return nil
		}
		return edits(slices.Sorted(maps.Keys(changes)), folder)
	case ran:
		return worked(commandOf(r.input), folder)
	}
	switch string(r.tool) {
	case "apply_patch":
		return worked(unquoted(r.input), folder)
	case "shell", "shell_command", "exec_command", "container.exec", "local_shell":
		asked := r.input
		if string(r.tool) != "local_shell" {
			asked = []byte(unquoted(r.input))
		}
		var a struct {
			Cmd, Workdir string
			Command      json.RawMessage
			Folder       string `json:"working_directory"`
		}
		if json.Unmarshal(asked, &a) != nil {
			return nil
		}
		folder = absolute(a.Folder, absolute(a.Workdir, folder))
		if a.Cmd == "" {
			a.Cmd = commandOf(a.Command)
		}
		return worked(a.Cmd, folder)
	}
	return nil
}

// unquoted decodes a string that the line writes, given without its quotes.
func unquoted(raw []byte) (text string) {
	_ = json.Unmarshal(slices.Concat([]byte{'"'}, raw, []byte{'"'}), &text) // empty if invalid
	return text
}

// commandOf returns the command in a JSON value, which is a text or a list of
// words. If the words start a shell, the last word is the command.
func commandOf(value []byte) string {
	var text string
	var words []string
	switch {
	case json.Unmarshal(value, &text) == nil:
		return text
	case json.Unmarshal(value, &words) != nil || len(words) == 0:
		return ""
	case len(words) == 3 && strings.HasSuffix(words[0], "sh") &&
		strings.HasPrefix(words[1], "-"), words[0] == "apply_patch":
		return words[len(words)-1]
	}
	return strings.Join(words, " ")
}

// worked returns the actions of a command.
func worked(command, folder string) []transcript.Call {
	if command == "" {
		return nil
	}
	if _, patch, is := strings.Cut(command, "*** Begin Patch"); is {
		var paths []string
		for line := range strings.Lines(patch) {
			for _, head := range [...]string{
				"*** Add File: ",
				"*** Update File: ",
				"*** Delete File: ",
			} {
				if name, ok := strings.CutPrefix(line, head); ok {
					paths = append(paths, strings.TrimSpace(name))
				}
			}
		}
		return edits(paths, folder)
	}
	if name, ok := fileRead(command); ok {
		return []transcript.Call{{
			Tool: transcript.ToolRead,
			On:   []byte(absolute(name, folder)),
		}}
	}
	return []transcript.Call{{Tool: transcript.ToolRun, On: []byte(command)}}
}

func edits(paths []string, folder string) (calls []transcript.Call) {
	for _, name := range paths {
		calls = append(calls, transcript.Call{
			Tool: transcript.ToolEdit,
			On:   []byte(absolute(name, folder)),
		})
	}
	return calls
}

func absolute(name, folder string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(folder, name)
}

// fileRead returns the file that a command shows, if the command does nothing
// else: cat, nl, head and tail of one file, and sed -n. The name must be one
// word, quoted completely or not at all.
func fileRead(command string) (name string, ok bool) {
	program, _, _ := strings.Cut(command, " ")
	if !slices.Contains([]string{"sed", "cat", "nl", "head", "tail"}, program) {
		return "", false
	}
	const plain = "[^\\s'\"|&;<>()$`*?\\[\\]{}~#!\\\\]"
	const word = "(?:'[^']*'|\"[^\"$`\\\\]*\"|" + plain + "+)"
	reads := regexp.MustCompile(`^(?:sed +-n +` + word + `|\w+(?: +(?:-` + plain + `*|\d+))*) +(` + word + `)$`)
	m := reads.FindStringSubmatch(strings.TrimSpace(command))
	if m == nil || program != "sed" && m[1][0] == '-' {
		return "", false
	}
	return strings.Trim(m[1], `'"`), true
}
