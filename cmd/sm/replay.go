package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sm/alerts"
	"sm/cmd/sm/internal/config"
	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen"
	"sm/observer/fleet"
	"sm/observer/history"
	"sm/observer/history/tune"
	"sm/transcript"
)

func newReplayCommand(env *environ) *cobra.Command {
	var asJSON, asGrid bool
	var warning, critical int
	cmd := &cobra.Command{
		Use:   "replay [PATH]...",
		Short: "Show what the observer would have said over old transcripts",
		Long: "Run the observer's policy over the transcripts in and below each PATH, all of this user's without any: what would\n" +
			"have been said when, and which compactions came without a warning. No observer is needed, and nobody hears it.\n" + gridHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, paths, err := env.transcripts(cmd, args)
			if err != nil {
				return err
			}
			o := alertOptions(cfg)
			if flags := cmd.Flags(); flags.Changed("warning") {
				o.Thresholds.WarningPercentage, o.Thresholds.WarningTokens, o.Thresholds.WarningOfThreshold = warning, 0, 0
			}
			if flags := cmd.Flags(); flags.Changed("critical") {
				o.Thresholds.CriticalPercentage, o.Thresholds.CriticalTokens, o.Thresholds.CriticalOfThreshold = critical, 0, 0
			}
			if t := o.Thresholds; t.CriticalTokens == 0 && t.WarningTokens == 0 && (t.WarningPercentage < 0 || t.CriticalPercentage > 100 || t.CriticalPercentage < t.WarningPercentage) {
				return usagef("--warning %d and --critical %d: give percentages of 0 to 100, the critical one not below the other", t.WarningPercentage, t.CriticalPercentage)
			}
			if asGrid {
				return env.runGrid(cmd.Context(), cfg, o, paths, asJSON)
			}
			stories, err := env.past().replay(cmd.Context(), cfg, o, paths)
			if history.Fatal(err) {
				return fmt.Errorf("%w; check the paths and thresholds", err)
			}
			return errors.Join(env.printer().writeReplay(stories, asJSON), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line for each notice and compaction; of a grid, one object")
	cmd.Flags().BoolVar(&asGrid, "grid", false, "try thresholds and choose some")
	cmd.Flags().IntVar(&warning, "warning", 0, "warn at `P` percent of the window instead of the configured threshold")
	cmd.Flags().IntVar(&critical, "critical", 0, "the same for the critical notice")
	return cmd
}

// runGrid tries thresholds and prints what came of it.
func (env *environ) runGrid(ctx context.Context, cfg *config.Config, o alerts.Options, paths []string, asJSON bool) error {
	sparing()
	g, err := env.past().grid(ctx, cfg, o, paths)
	if history.Fatal(err) {
		return fmt.Errorf("%w; check the paths and thresholds", err)
	}
	if asJSON {
		return errors.Join(writeJSON(env.stdout, g), err)
	}
	return errors.Join(env.printer().writeGrid(g), err)
}

// grid tries thresholds on all transcripts in paths.
func (past *pastReader) grid(ctx context.Context, cfg *config.Config, o alerts.Options, paths []string) (*tune.Grid, error) {
	h, err := past.readHistory(ctx, paths)
	if history.Fatal(err) {
		return nil, err
	}
	g, bad := tune.Try(ctx, h, tune.Options{Policy: o, Configured: alertOptions(cfg).Thresholds, Windows: windowRules(cfg), Now: time.Now()})
	if bad != nil {
		return nil, bad
	}
	return g, err
}

// retold is one thing that happened in a replay: a notice, or a compaction.
type retold struct {
	Session string     `json:"session_id"`
	Path    string     `json:"path"`
	Project string     `json:"project"`
	At      *time.Time `json:"at"`    // null where the records do not tell
	Event   string     `json:"event"` // notice, compaction
	Cycle   int        `json:"cycle"` // that of the notice, or the one that the compaction ended
	// Kind, To, Mode and Text are those of a notice.
	Kind string `json:"kind,omitempty"`
	To   string `json:"to,omitempty"`
	Mode string `json:"delivery_mode,omitempty"`
	Text string `json:"text,omitempty"`
	// Trigger, PreTokens and Warned are those of a compaction.
	Trigger   string `json:"trigger,omitempty"`
	PreTokens int64  `json:"pre_tokens,omitempty"`
	Warned    *bool  `json:"warned,omitempty"`
	// Threshold is the size at which the client was taken to compact, ThresholdSource where that is from: configured,
	// seen, assumed.
	Threshold       int64  `json:"threshold_tokens,omitempty"`
	ThresholdSource string `json:"threshold_source,omitempty"`
}

// replay runs the policy over each session for itself: agents are not known by their transcripts. Where clients
// compact is learned from one session to the next, as they began.
func (past *pastReader) replay(ctx context.Context, cfg *config.Config, o alerts.Options, paths []string) ([]retold, error) {
	var changes []transcript.Change
	err := past.reading(func(o history.Options) (err error) {
		changes, err = history.Records(ctx, o, paths)
		return err
	})
	if history.Fatal(err) {
		return nil, err
	}
	f := fleet.New(fleet.Options{Created: time.Now(), Windows: windowRules(cfg), Thresholds: o.Thresholds}, fleet.Stored{Settled: true})
	var all []retold
	var learned []alerts.ObservedCompactions
	for i := range changes {
		if ended := ctx.Err(); ended != nil {
			return nil, ended
		}
		c := &changes[i]
		c.Whole = false // record for record, as if the file had been followed
		events := f.Apply(*c).Events
		if len(events) == 0 {
			continue
		}
		engine, err := alerts.New(o)
		if err != nil {
			return nil, err
		}
		engine.Restore(alerts.State{Learned: learned})
		s := story{session: cmp.Or(c.Session.ID, c.Name), path: c.Cursor.Path, project: projectOf(c), cycle: 1}
		s.play(engine, events)
		all = append(all, s.told...)
		learned = engine.Snapshot().Learned
		c.Entries, c.Messages = nil, nil
	}
	slices.SortStableFunc(all, func(a, b retold) int { return timeOf(a.At).Compare(timeOf(b.At)) })
	return all, err
}

func projectOf(c *transcript.Change) string {
	return c.Session.CWD[strings.LastIndexAny(c.Session.CWD, `/\`)+1:]
}

// story is what the policy makes of one session.
type story struct {
	session, path, project string
	told                   []retold
	now                    time.Time
	cycle                  int // the present one
}

// play gives the events to the engine, with the time that passes between them.
func (s *story) play(engine *alerts.Engine, events []alerts.Event) {
	next := time.Time{}
	for _, ev := range events {
		if ev.At.After(s.now) {
			for !next.IsZero() && next.Before(ev.At) {
				var actions []alerts.Action
				actions, next = engine.Tick(next)
				s.note(engine, actions)
			}
			s.now = ev.At
			var actions []alerts.Action
			actions, next = engine.Tick(ev.At)
			s.note(engine, actions)
		}
		before := s.cycle
		if s.note(engine, engine.Step(ev)); ev.Kind == alerts.EventCompacted && !ev.History && s.cycle == before {
			s.quiet(&ev)
		}
	}
}

// quiet notes a compaction that opened no cycle: a fork writes those that it has copied behind what is newer. No notice
// stood before it.
func (s *story) quiet(ev *alerts.Event) {
	s.told = append(s.told, retold{
		Session: s.session, Path: s.path, Project: s.project, At: recorded(ev.At), Event: "compaction", Cycle: s.cycle,
		Trigger: ev.Trigger.String(), PreTokens: ev.PreTokens, Warned: new(false),
	})
}

func (s *story) note(engine *alerts.Engine, actions []alerts.Action) {
	for _, action := range actions {
		t := retold{Session: s.session, Path: s.path, Project: s.project}
		switch x := action.(type) {
		case alerts.Say:
			if v, _ := engine.Agent(x.Key.Agent); x.To.Role == alerts.Self && v.Threshold > 0 {
				t.Threshold, t.ThresholdSource = v.Threshold, v.ThresholdSource.String()
			}
			t.At, t.Event, t.Cycle, t.Kind = recorded(x.At), "notice", x.Key.Cycle, x.Key.Kind.String()
			t.To, t.Mode, t.Text = x.To.Role.String(), x.Mode.String(), x.Text
		case alerts.Opened:
			if s.cycle = x.Cycle; x.Cause != alerts.CauseCompaction {
				continue
			}
			t.At, t.Event, t.Cycle, t.Trigger, t.PreTokens, t.Warned = recorded(x.At), "compaction", x.Cycle-1, x.Trigger.String(), x.PreTokens, &x.Warned
		default:
			continue
		}
		s.told = append(s.told, t)
	}
}

func (to *printer) writeReplay(all []retold, asJSON bool) error {
	if asJSON {
		for _, t := range all {
			if err := writeJSON(to.Writer, t); err != nil {
				return err
			}
		}
		return nil
	}
	t := term.Table{Headers: []string{"TIME", "SESSION", "CYCLE", "WHAT", "TEXT"}, Colour: to.colour}
	for _, x := range all {
		t.Add(term.Text(timeText(x.At), screen.Dim), term.Text(screen.FitEnd(x.Session[:min(8, len(x.Session))], 8), ""), term.Text(fmt.Sprint(x.Cycle), ""),
			what(x), term.Text(screen.OneLine(x.text()), ""))
	}
	if len(all) > 0 {
		if err := t.Write(to.Writer); err != nil {
			return err
		}
	}
	_, err := io.WriteString(to.Writer, summary(all))
	return err
}

// recorded is a time that a record has told; those without are counted from the beginning of all time.
func recorded(t time.Time) *time.Time {
	if t.Year() < 1971 {
		return nil
	}
	return &t
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func timeText(t *time.Time) string {
	if t == nil {
		return "–"
	}
	return t.Local().Format(time.DateTime)
}

func what(t retold) term.Cell {
	switch {
	case t.Event == "notice":
		return term.Text(t.Kind, map[string]string{"warning": screen.Orange, "critical": screen.Red}[t.Kind])
	case !*t.Warned:
		return term.Text("compaction, unwarned", screen.Red)
	}
	return term.Text("compaction", "")
}

func (t retold) text() string {
	switch {
	case t.Event == "notice":
		return t.Text
	case t.PreTokens > 0:
		return fmt.Sprintf("%s, %s tokens", t.Trigger, screen.Tokens(t.PreTokens))
	}
	return t.Trigger
}

// thresholdsText says by which compaction thresholds the notices to agents were given.
func thresholdsText(all []retold) string {
	by := map[string]map[int64]int{}
	for _, t := range all {
		if t.Threshold > 0 {
			if by[t.ThresholdSource] == nil {
				by[t.ThresholdSource] = map[int64]int{}
			}
			by[t.ThresholdSource][t.Threshold]++
		}
	}
	var parts []string
	for _, source := range slices.Sorted(maps.Keys(by)) {
		for _, tokens := range slices.Sorted(maps.Keys(by[source])) {
			parts = append(parts, fmt.Sprintf("%s (%s, %d)", screen.Tokens(tokens), source, by[source][tokens]))
		}
	}
	const most = 4
	if n := len(parts); n > most {
		parts = append(parts[:most], fmt.Sprintf("%d more", n-most))
	}
	if parts == nil {
		return ""
	}
	return "compaction thresholds of these notices: " + strings.Join(parts, ", ") + "\n"
}

// summary counts what a replay has retold.
func summary(all []retold) string {
	kinds := map[string]int{}
	compactions, unwarned := 0, 0
	for _, t := range all {
		switch {
		case t.Event == "notice":
			kinds[t.Kind]++
		case !*t.Warned:
			unwarned++
			fallthrough
		default:
			compactions++
		}
	}
	var said []string
	for _, k := range alerts.Kinds() {
		if n := kinds[k.String()]; n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, k))
		}
	}
	if len(said) == 0 {
		said = []string{"none"}
	}
	return fmt.Sprintf("notices: %s; compactions: %d, %d of them unwarned\n%s", strings.Join(said, ", "), compactions, unwarned, thresholdsText(all))
}
