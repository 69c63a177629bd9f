package doctor

import (
	"bytes"
	"math"
	"regexp"
	"strconv"

	"sm/deploy/install"
	"sm/handoff/proc"
)

// memoryLimit is a variable that the runtime of Go reads before a program begins. A value that it cannot read ends the program
// with exit code 2, which a client takes for a refusal. No program of Go can do anything about that.
const memoryLimit = "GOMEMLIMIT"

// memoryInSettings looks at the variables that settings set for the client and its hooks.
func (d *doctor) memoryInSettings(l *settingsLayer) {
	if l.editor == nil {
		return
	}
	if value, ok := l.editor.Doc.At("env", memoryLimit).Text(); ok {
		d.memory(value, l.path)
	}
}

// memoryOf looks at the variables that a client was started with.
func (d *doctor) memoryOf(c install.Client) {
	vars, _ := proc.Read(d.Proc, c.PID, "environ") // of one that does not run, or is another user's, nothing is known
	for v := range bytes.SplitSeq(vars, []byte{0}) {
		if value, ok := bytes.CutPrefix(v, []byte(memoryLimit+"=")); ok {
			d.memory(string(value), c.String())
		}
	}
}

func (d *doctor) memory(value, where string) {
	if value != "" && value != "off" && !isMemory(value) {
		d.found("hooks", Broken, "write it as 4GiB, or leave it out, and start the client anew",
			"%s=%s of %s ends every hook at its start, and the client takes that for a refusal", memoryLimit, value, where)
	}
}

// isMemory says whether Go reads a size: a number with a unit or none, of bytes that an int64 holds.
func isMemory(value string) bool {
	size := regexp.MustCompile(`^([0-9]+)(B|[KMGT]iB)?$`).FindStringSubmatch(value)
	if size == nil {
		return false
	}
	n, err := strconv.ParseInt(size[1], 10, 64)
	shift := map[string]int{"KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}[size[2]]
	return err == nil && n <= math.MaxInt64>>shift
}
