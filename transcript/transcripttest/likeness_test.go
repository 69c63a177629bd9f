package transcripttest

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// orderedKeys are the keys of an object in the order in which they stand.
func orderedKeys(raw []byte) []string {
	var keys []string
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil
		}
		keys = append(keys, key.(string))
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			return nil
		}
	}
	return keys
}

// likeness collects, for each version and kind of record, which key stands before
// which.
type likeness map[string]map[[2]string]bool

func (l likeness) learn(kind string, keys []string) {
	if l[kind] == nil {
		l[kind] = map[[2]string]bool{}
	}
	for i, a := range keys {
		for _, b := range keys[i+1:] {
			l[kind][[2]string{a, b}] = true
		}
	}
}

// contradicts returns the first pair of keys that real records only have the other
// way round.
func (l likeness) contradicts(kind string, keys []string) (a, b string, yes bool) {
	for i, a := range keys {
		for _, b := range keys[i+1:] {
			if l[kind][[2]string{b, a}] && !l[kind][[2]string{a, b}] {
				return a, b, true
			}
		}
	}
	return "", "", false
}

// visit calls f for the record and the objects in it whose order is looked at. The
// order within a message is the API's: a stub's says nothing of it.
func visit(line []byte, version string, stub bool, f func(kind string, keys []string)) {
	o := objectOf(line)
	if o == nil {
		return
	}
	kind := o.text("type") + "/" + o.text("subtype")
	if objectOf(o["message"]).text("model") == syntheticModel {
		kind += "synthetic"
	}
	f(version+" "+kind, orderedKeys(line))
	for _, key := range []string{"message", "compactMetadata", "microcompactMetadata"} {
		if in := objectOf(o[key]); in != nil && !(stub && key == "message") {
			f(version+" "+kind+"."+key, orderedKeys(o[key]))
			if usage := objectOf(in["usage"]); usage != nil {
				f(version+" "+kind+".usage", orderedKeys(in["usage"]))
			}
		}
	}
}

func learnReal(t *testing.T) likeness {
	real := likeness{}
	dirs := []string{samples(t, "transcripts")}
	if corpus := os.Getenv("SM_CORPUS"); corpus != "" {
		dirs = append(dirs, corpus)
	}
	for i, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".jsonl") {
				return err
			}
			data, err := os.ReadFile(path)
			if len(data) > 150_000 {
				return err // the smaller ones show all that there is
			}
			version := ""
			for line := range bytes.Lines(data) {
				if v := objectOf(line).text("version"); v != "" {
					version = v
				}
				visit(line, version, i == 0, real.learn)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return real
}

func TestLooksReal(t *testing.T) {
	real, compared := learnReal(t), map[string]bool{}
	for _, era := range Eras()[1:] {
		versions := era.Versions()
		if testing.Short() {
			versions = versions[len(versions)-1:]
		}
		for _, version := range versions {
			var b bytes.Buffer
			s := NewSession(&b, 7, era, SessionOptions{Version: version})
			f := &fleet{options: Options{LineBytes: 900}, rng: s.rng}
			f.live(s, 40)
			s.Sidechain(2)
			s.Compact(Compaction{Trigger: Auto})
			if a := s.Subagent(&b); a != nil {
				a.Reply(Reply{})
			}
			for line := range bytes.Lines(b.Bytes()) {
				visit(line, version, false, func(kind string, keys []string) {
					compared[kind] = compared[kind] || real[kind] != nil
					if a, b, yes := real.contradicts(kind, keys); yes {
						t.Errorf("%s: %q before %q in %.200s", kind, a, b, line)
					}
				})
			}
		}
	}
	n := 0
	for _, known := range compared {
		if known {
			n++
		}
	}
	t.Logf("%d kinds of objects, %d with a real example of the version", len(compared), n)
}
