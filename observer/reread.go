package observer

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"sm/alerts"
	"sm/transcript"
)

const (
	// rereadFiles is how many files are named that were read again after compactions, rereadLength how
	// many characters of a name.
	rereadFiles, rereadLength = 5, 60
)

// reread names the files that an agent read again after its last compactions, those of most tokens first; where there
// are none, those that other agents of its project did.
func (p *parts) reread(agent alerts.AgentID, now time.Time) []string {
	if !p.settings.Rereads {
		return nil
	}
	v, err := p.fleet.View(string(agent), now)
	if err != nil {
		return nil
	}
	own, others := map[string]int64{}, map[string]int64{}
	for w := range p.fleet.All(now) {
		if w.Bill == nil || w.Bill.Kind != transcript.BilledCompaction {
			continue
		}
		tally := others
		if w.Agent == v.Agent {
			tally = own
		} else if w.CWD != v.CWD || v.CWD == "" {
			continue
		}
		for _, f := range w.Bill.Files {
			tally[plainName(f.Name)] += f.Tokens + 1
		}
	}
	if delete(own, ""); len(own) == 0 {
		own = others
		delete(own, "")
	}
	names := slices.SortedFunc(maps.Keys(own), func(a, b string) int { return cmp.Or(cmp.Compare(own[b], own[a]), cmp.Compare(a, b)) })
	return names[:min(len(names), rereadFiles)]
}

// plainName is a file's name reduced to what means nothing to a shell or a reader of instructions: letters, digits, dots,
// slashes, underscores and hyphens. A long one keeps its end.
func plainName(name string) string {
	r := []rune(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-/", r) {
			return r
		}
		return '_'
	}, name))
	return string(r[max(0, len(r)-rereadLength):])
}

// withReread adds the files to the agent's own critical notice.
func (p *rules) withReread(s *alerts.Say, now time.Time) {
	if s.Key.Kind != alerts.KindCritical || s.To.Role != alerts.Self {
		return
	}
	names := p.reread(s.To.Agent, now)
	if len(names) == 0 {
		return
	}
	needed := " After past compactions you needed: " + strings.Join(names, ", ") + "."
	if s.Text += needed; s.Plain != "" {
		s.Plain += needed
	}
}
