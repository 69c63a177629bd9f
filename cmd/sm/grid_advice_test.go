package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sm/alerts"
	"sm/transcript"
)

// regular are sessions of some cycles that fill up in small steps, a prompt every other reading, to sizes that differ.
func regular(sessions, cycles int) (all []*handWritten) {
	for n := range sessions {
		s := newScript(n)
		for c := range cycles {
			s.filled(24+2*c, 160+(7*n+5*c)%11, 3, 2)
		}
		s.turn()
		s.read(30, 50)
		all = append(all, s)
	}
	return all
}

// TestAdvice: what is advised of fleets of which it is known what would serve them.
func TestAdvice(t *testing.T) {
	jumps := func(sessions int) (all []*handWritten) {
		for n := range sessions {
			s := newScript(n)
			for range 3 {
				s.turn()
				s.read(20, 30)
				s.compact("auto", 165)
			}
			all = append(all, s)
		}
		return all
	}
	for _, c := range []struct {
		name  string
		fleet []*handWritten
		flags []string
		want  advice
		lines int
		says  []string
	}{
		{"nothing at all", nil, nil, adviceTooFew, 0, []string{"0 compactions", "Too few", "50% and 65% on all sessions", "Forecast"}},
		{"no compaction", []*handWritten{newScript(0)}, nil, adviceTooFew, 0, []string{"Too few"}},
		{"too few", regular(4, 2), nil, adviceTooFew, 0, []string{"Too few", "has 4.", "8 compactions\nWARN"}},
		{"no threshold helps", jumps(10), nil, adviceNone, 0, []string{"No threshold gives a notice in time", "30 compactions"}},
		{"late ones", regular(10, 4), []string{"--warning", "95", "--critical", "98"}, adviceChange, 3, []string{"Change to", "under context_monitor:"}},
		{"early ones", regular(10, 4), []string{"--warning", "20", "--critical", "30"}, adviceChange, 3, []string{"Change to"}},
		{"one session", regular(1, 12), nil, adviceUnchecked, 3, []string{"One session: there is nothing to check against", "To try it"}},
		{"one large and one small", append(regular(1, 12), regular(2, 1)[1]), nil, adviceUnchecked, 3, []string{"1 compaction", "which is too few: 5 are needed", "To try it"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{written(t, t.TempDir(), c.fleet...)}, c.flags...)
			g := gridOf(t, args...)
			if g.Advice != c.want || len(g.Configuration) != c.lines {
				t.Errorf("advice %q, lines %q; want %q and %d", g.Advice, g.Configuration, c.want, c.lines)
			}
			text := string(output(t, append([]string{"replay", "--grid"}, args...)...))
			fitsWidth(t, text)
			for _, part := range c.says {
				if !strings.Contains(text, part) {
					t.Errorf("%q is missing:\n%s", part, text)
				}
			}
		})
	}
}

// TestAdviceInForce: where what is in force is what would be chosen there is nothing to change, and nothing to paste.
func TestAdviceInForce(t *testing.T) {
	dir := written(t, t.TempDir(), regular(10, 4)...)
	g := gridOf(t, dir, "--warning", "95", "--critical", "98")
	if g.Chosen == nil || g.Chosen.Unit != "percent" {
		t.Fatalf("chosen: %+v", g.Chosen)
	}
	flags := []string{"--warning", fmt.Sprint(g.Chosen.Warning), "--critical", fmt.Sprint(g.Chosen.Critical)}
	again := gridOf(t, append([]string{dir}, flags...)...)
	if again.Advice != adviceKeep || len(again.Configuration) > 0 {
		t.Errorf("advice %q, lines %q", again.Advice, again.Configuration)
	}
	text := string(output(t, append([]string{"replay", "--grid", dir}, flags...)...))
	if !strings.Contains(text, "Nothing to change") || strings.Contains(text, "context_monitor:") {
		t.Errorf("said:\n%s", text)
	}
	// And where it is in the configuration, but something else was to be compared with.
	plainEnvironment(t)
	path := filepath.Join(t.TempDir(), "config.yaml")
	place(t, path, []byte(strings.Join(g.Configuration, "\n")))
	text = string(outputHere(t, "replay", "--grid", "--config", path, "--warning", "95", "--critical", "98", dir))
	if !strings.Contains(text, "The configuration has it already") {
		t.Errorf("said:\n%s", text)
	}
}

func TestAdvise(t *testing.T) {
	pair := func(warning, critical, compactions int, coverage float64) *candidate {
		return &candidate{Checking: figures{Compactions: compactions, Coverage: coverage}, thresholds: alerts.Thresholds{WarningPercentage: warning, CriticalPercentage: critical}}
	}
	for _, c := range []struct {
		name            string
		chosen, current *candidate
		d               difference
		want            advice
	}{
		{"better", pair(55, 60, 9, 1), pair(50, 65, 9, 0.5), difference{0.1, 0.05}, adviceChange},
		{"by chance", pair(55, 60, 9, 1), pair(50, 65, 9, 0.5), difference{0.05, 0.05}, adviceUnclear},
		{"worse", pair(55, 60, 9, 1), pair(50, 65, 9, 0.5), difference{-0.1, 0.05}, adviceKeep},
		{"as good", pair(55, 60, 9, 1), pair(50, 65, 9, 1), difference{0, 0}, adviceKeep},
		{"the same", pair(50, 65, 9, 1), pair(50, 65, 9, 1), difference{0, 0}, adviceKeep},
		{"the same, unchecked", pair(50, 65, 0, 0), pair(50, 65, 0, 0), difference{0, 0}, adviceKeep},
		{"few to check with", pair(55, 60, 4, 1), pair(50, 65, 4, 0), difference{0.5, 0.05}, adviceUnchecked},
		{"enough to check with", pair(55, 60, 5, 1), pair(50, 65, 5, 0), difference{0.5, 0.05}, adviceChange},
		{"none to check with", pair(55, 60, 0, 0), pair(50, 65, 0, 0), difference{0, 0}, adviceUnchecked},
		{"never in time", pair(55, 60, 9, 0), pair(50, 65, 9, 0), difference{0.02, 0.01}, adviceNone},
		{"in time only now", pair(55, 60, 9, 0), pair(50, 65, 9, 0.2), difference{-0.1, 0.01}, adviceKeep},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := advise(c.chosen, c.current, c.d); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestHeldOut: what the sessions that check are like has no part in what is chosen, nor in what there is to choose from.
func TestHeldOut(t *testing.T) {
	dir := written(t, t.TempDir(), regular(20, 3)...)
	before := gridOf(t, dir)
	changed := 0
	for _, p := range settled(t, dir).chapters {
		if p.half == checking {
			changed++
			b, err := os.ReadFile(p.change.Cursor.Path)
			if err != nil {
				t.Fatal(err)
			}
			place(t, p.change.Cursor.Path, bytes.ReplaceAll(b, []byte(`"preTokens":1`), []byte(`"preTokens":41`)))
		}
	}
	after := gridOf(t, dir)
	only := cmpopts.IgnoreFields(candidate{}, "Checking")
	if d := cmp.Diff(before.Pairs, after.Pairs, only, cmpopts.IgnoreUnexported(candidate{})); d != "" || changed < 8 {
		t.Errorf("%d sessions changed (-before +after):\n%s", changed, d)
	}
	if d := cmp.Diff(before.Chosen, after.Chosen, only, cmpopts.IgnoreUnexported(candidate{})); d != "" {
		t.Errorf("chosen (-before +after):\n%s", d)
	}
	if d := cmp.Diff(before.Default.Checking, after.Default.Checking); d == "" {
		t.Error("the sessions that check are as they were")
	}
}

// TestSizesUntold: of clients that do not tell the size at a compaction it is that of the last reading, by its time, and
// thresholds in tokens are tried there too.
func TestSizesUntold(t *testing.T) {
	dir := t.TempDir()
	for n := range 12 {
		s := newScript(n)
		for size := 20; size < 160; size += 5 {
			s.turn()
			s.read(size)
		}
		s.compact("auto", 0)
		s.now = s.now.Add(-25e9)
		s.read(158) // written late, but it is older
		s.now = s.now.Add(60e9)
		s.read(30)
		written(t, dir, s)
	}
	r := reported(t, dir)
	if r.Pre.Known != 12 || *r.Pre.Min != 158_000 || *r.Pre.Max != 158_000 || *r.Post.Max != 30_000 {
		t.Errorf("before %+v, after %+v", r.Pre, r.Post)
	}
	g := gridOf(t, dir)
	if !slices.ContainsFunc(g.Pairs, func(p candidate) bool { return p.Unit == "tokens" && p.Critical > 100_000 }) {
		t.Error("no thresholds in tokens are tried")
	}
}

// TestWindowThatTurnedOut: percentages are of the window that a session turned out to have, from its beginning on.
func TestWindowThatTurnedOut(t *testing.T) {
	s := newScript(1)
	for size := 20; size < 700; size += 20 {
		s.turn()
		s.read(size)
	}
	s.compact("auto", 700)
	g := gridOf(t, written(t, t.TempDir(), s))
	if f := g.Overall; f.Timely != 1 || math.Abs(f.Used-5./7) > 1e-9 {
		t.Errorf("%+v; want a warning at 500 of 700", f)
	}
}

// TestMinutesOfWork: a pause counts as five minutes at most.
func TestMinutesOfWork(t *testing.T) {
	events := handMade("a", "turn", 20, 110, "turn", 120, "auto")
	for i := 3; i < len(events); i++ {
		events[i].At = events[i].At.Add(2 * 60 * 60e9)
	}
	l := ladderOf(nil, alerts.Defaults().Thresholds)
	r := newTrial(t.Context(), alerts.Defaults(), 1)
	r.take(l, &telling{events: events, first: everyEvent(events), half: choosing})
	said, err := r.whole(alerts.Thresholds{WarningPercentage: 50})
	if err != nil {
		t.Fatal(err)
	}
	if f := r.judge(said, choosing); *f.Minutes.Median != 5+2 {
		t.Errorf("%v minutes, want 5 of the pause and 2", *f.Minutes.Median)
	}
}

// TestRepeatedReadings: one is left out only where no pause lies between what stands before and behind it.
func TestRepeatedReadings(t *testing.T) {
	for _, c := range []struct {
		name    string
		minutes []float64
		want    []bool
	}{
		{"at once", []float64{0, 1, 2, 3, 4}, []bool{false, false, true, false, false}},
		{"five minutes", []float64{0, 1, 3, 6, 7}, []bool{false, false, true, false, false}},
		{"more", []float64{0, 1, 3, 6.1, 7}, []bool{false, false, false, false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := handMade("a", 10, 20, 20, 30, 40)
			for i := range events {
				events[i].At = at(c.minutes[i])
			}
			f, err := newForecaster(alerts.Defaults())
			if err != nil {
				t.Fatal(err)
			}
			f.repeated(events)
			if d := cmp.Diff(c.want, f.repeats); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestHolds: the truth is in the range of a forecast, of which the compaction's own turn counts either way.
func TestHolds(t *testing.T) {
	for _, c := range []struct {
		low, high, left float64
		want            bool
	}{{4, 6, 5, true}, {4, 6, 4, true}, {4, 6, 3.9, false}, {4, 6, 7, true}, {4, 6, 7.1, false}, {4, 6, 10, false}, {0, 0, 1, true}, {0, 0, 3, false}} {
		if got := holds(alerts.Range{Low: c.low, High: c.high, Known: true}, c.left); got != c.want {
			t.Errorf("%v..%v holds %v: %t", c.low, c.high, c.left, got)
		}
	}
}

// TestClustered: the cycles of one session tell less than as many of different ones.
func TestClustered(t *testing.T) {
	apart := []cluster{{compactions: 1, won: 1}, {compactions: 1, won: 1}, {compactions: 1}, {compactions: 1}}
	alike := []cluster{{compactions: 2, won: 2}, {compactions: 2}}
	a, b := standardError(apart), standardError(alike)
	if want := math.Sqrt(4. / 3 * 4 * 0.125 * 0.125); math.Abs(a-want) > 1e-9 || math.Abs(b-0.5) > 1e-9 {
		t.Errorf("%v apart and %v in two sessions, want %v and 0.5", a, b, want)
	}
	if !math.IsNaN(standardError(alike[:1])) {
		t.Error("one session has a standard error")
	}
}

// TestChoiceOfNone: a pair that never gives a notice in time is not chosen, however little it costs.
func TestChoiceOfNone(t *testing.T) {
	never := candidate{Unit: "percent", Warning: 30, Critical: 40, Choosing: figures{Measure: 0}}
	some := candidate{Unit: "percent", Warning: 50, Critical: 60, Choosing: figures{Measure: 0.1, StandardError: 0.2, Coverage: 0.3}}
	if _, chosen, ok := choice([]candidate{never, some}); !ok || chosen.Warning != some.Warning {
		t.Errorf("chosen %+v", chosen)
	}
	if _, _, ok := choice([]candidate{never}); ok {
		t.Error("something was chosen")
	}
}

// TestNoKnee: a coverage that is 0 throughout has no knee.
func TestNoKnee(t *testing.T) {
	var all []*handWritten
	for n := range 10 {
		s := newScript(n)
		s.turn()
		s.read(20, 150)
		s.compact("auto", 165)
		all = append(all, s)
	}
	for _, k := range gridOf(t, written(t, t.TempDir(), all...)).Knees {
		if k.Warning != nil || k.Critical != nil {
			t.Errorf("%s: %v and %v", k.Unit, k.Warning, k.Critical)
		}
	}
}

// TestRows: the pair that was chosen stands in the table, though another one with its warning is better.
func TestRows(t *testing.T) {
	pair := func(warning, critical int, measure float64) candidate {
		c := newCandidate(alerts.Thresholds{WarningPercentage: warning, CriticalPercentage: critical})
		c.Choosing.Measure = measure
		return c
	}
	g := grid{Pairs: []candidate{pair(50, 55, 0.5), pair(50, 60, 0.6), pair(50, 65, 0.7), pair(55, 60, 0.6), pair(55, 65, 0.4)}}
	for _, c := range []struct{ chosen, first, second int }{{0, 0, 3}, {1, 1, 3}, {2, 2, 3}, {3, 2, 3}, {4, 2, 4}} {
		g.Chosen = &g.Pairs[c.chosen]
		rows := g.rows()
		if len(rows) != 2 || rows[0] != &g.Pairs[c.first] || rows[1] != &g.Pairs[c.second] {
			t.Errorf("chosen %s: rows %s", g.Chosen.name(), rows[0].name())
		}
	}
}

// TestConfigurationLines: they take effect whatever is configured, and a threshold that is not there is off.
func TestConfigurationLines(t *testing.T) {
	percent := alerts.Thresholds{WarningPercentage: 60, CriticalPercentage: 65}
	for _, c := range []struct {
		configured alerts.Thresholds
		want       []string
	}{
		{alerts.Defaults().Thresholds, nil},
		{alerts.Thresholds{CriticalTokens: 1}, []string{"  critical_tokens: 0"}},
		{alerts.Thresholds{WarningTokens: 1, CriticalTokens: 1}, []string{"  warning_tokens: 0", "  critical_tokens: 0"}},
	} {
		want := append([]string{"context_monitor:", "  warning_percentage: 60", "  critical_percentage: 65"}, c.want...)
		if d := cmp.Diff(want, configurationOf(percent, c.configured)); d != "" {
			t.Errorf("%+v (-want +got):\n%s", c.configured, d)
		}
	}
	// What the flags say to compare with is not what is configured.
	plainEnvironment(t)
	dir, path := written(t, t.TempDir(), regular(10, 4)...), filepath.Join(t.TempDir(), "config.yaml")
	place(t, path, []byte("context_monitor: {warning_tokens: 190000, critical_tokens: 195000}\n"))
	text := string(outputHere(t, "replay", "--grid", "--config", path, "--warning", "0", "--critical", "98", dir))
	if !strings.Contains(text, "\n  warning_tokens: 0\n  critical_tokens: 0\n") || !strings.Contains(text, "off and 98%") {
		t.Errorf("said:\n%s", text)
	}
}

// TestForecastOfCopies: of a compaction that a fork has copied forecasts were made once.
func TestForecastOfCopies(t *testing.T) {
	f, err := newForecaster(alerts.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	events := handMade("a", "turn", 20, "turn", 40, "turn", 60, "auto", "turn", 30, "turn", 50, "auto")
	first := everyEvent(events)
	first[6] = false
	f.take(events, first)
	asked := 0
	for _, x := range f.figures() {
		asked += x.Forecasts
	}
	if asked != 1 || events[6].Trigger != transcript.Auto {
		t.Errorf("asked %d times, want once", asked)
	}
}
