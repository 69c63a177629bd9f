package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sm/alerts"
	"sm/observer/fleet"
	"sm/transcript"
	"sm/transcript/follow"
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
			o := cfg.alerts()
			if flags := cmd.Flags(); flags.Changed("warning") {
				o.Thresholds.WarningPercentage, o.Thresholds.WarningTokens = warning, 0
			}
			if flags := cmd.Flags(); flags.Changed("critical") {
				o.Thresholds.CriticalPercentage, o.Thresholds.CriticalTokens = critical, 0
			}
			if t := o.Thresholds; t.CriticalTokens == 0 && t.WarningTokens == 0 && (t.WarningPercentage < 0 || t.CriticalPercentage > 100 || t.CriticalPercentage < t.WarningPercentage) {
				return usagef("--warning %d and --critical %d: give percentages of 0 to 100, the critical one not below the other", t.WarningPercentage, t.CriticalPercentage)
			}
			if asGrid {
				return env.runGrid(cmd.Context(), cfg, o, paths, asJSON)
			}
			stories, err := env.replay(cmd.Context(), cfg, o, paths)
			if fatal(err) {
				return fmt.Errorf("%w; check the paths and thresholds", err)
			}
			return errors.Join(env.writeReplay(stories, asJSON), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line for each notice and compaction; of a grid, one object")
	cmd.Flags().BoolVar(&asGrid, "grid", false, "try thresholds and choose some")
	cmd.Flags().IntVar(&warning, "warning", 0, "warn at `P` percent of the window instead of the configured threshold")
	cmd.Flags().IntVar(&critical, "critical", 0, "the same for the critical notice")
	return cmd
}

// runGrid tries thresholds and prints what came of it.
func (env *environ) runGrid(ctx context.Context, cfg *config, o alerts.Options, paths []string, asJSON bool) error {
	sparing()
	g, err := env.grid(ctx, cfg, o, paths)
	if fatal(err) {
		return fmt.Errorf("%w; check the paths and thresholds", err)
	}
	if asJSON {
		return errors.Join(writeJSON(env.stdout, g), err)
	}
	return errors.Join(env.writeGrid(g), err)
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
}

// replay runs the policy over each session for itself: agents are not known by their transcripts. Where clients
// compact is learned from one session to the next, as they began.
func (env *environ) replay(ctx context.Context, cfg *config, o alerts.Options, paths []string) ([]retold, error) {
	changes, err := env.history(ctx, paths)
	if fatal(err) {
		return nil, err
	}
	f := fleet.New(fleet.Options{Created: time.Now(), Windows: cfg.windowRules(), Thresholds: o.Thresholds}, fleet.Stored{Settled: true})
	var all []retold
	var learned []alerts.Learned
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

// history reads the transcripts with all their records, and puts them into the order in which they are told.
func (env *environ) history(ctx context.Context, paths []string) (all []transcript.Change, err error) {
	err = env.readAll(ctx, paths, follow.Options{Entries: true}, func(c transcript.Change) {
		c.Messages = nil
		all = append(all, c)
	})
	slices.SortStableFunc(all, func(a, b transcript.Change) int {
		return cmp.Or(compareCopied(isCopy(a), isCopy(b)), cmp.Compare(uint64(a.Session.Started)-1, uint64(b.Session.Started)-1),
			cmp.Compare(a.Session.Active, b.Session.Active), strings.Compare(a.Name, b.Name), strings.Compare(a.Cursor.Path, b.Cursor.Path))
	})
	return all, err
}

// isCopy says that some record of a transcript names another one that it was copied from.
func isCopy(c transcript.Change) bool {
	return slices.ContainsFunc(c.Compactions, func(e transcript.Compaction) bool { return e.Copied }) ||
		slices.ContainsFunc(c.Entries, func(e transcript.Entry) bool { return e.Origin != 0 })
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
				s.note(actions)
			}
			s.now = ev.At
			var actions []alerts.Action
			actions, next = engine.Tick(ev.At)
			s.note(actions)
		}
		before := s.cycle
		if s.note(engine.Step(ev)); ev.Kind == alerts.EventCompacted && !ev.History && s.cycle == before {
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

func (s *story) note(actions []alerts.Action) {
	for _, action := range actions {
		t := retold{Session: s.session, Path: s.path, Project: s.project}
		switch x := action.(type) {
		case alerts.Say:
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

func (env *environ) writeReplay(all []retold, asJSON bool) error {
	if asJSON {
		for _, t := range all {
			if err := writeJSON(env.stdout, t); err != nil {
				return err
			}
		}
		return nil
	}
	t := table{headers: []string{"TIME", "SESSION", "CYCLE", "WHAT", "TEXT"}, colour: env.colours(env.stdout)}
	for _, x := range all {
		t.add(cell{timeText(x.At), dim}, cell{shortName(x.Session[:min(8, len(x.Session))], 8), ""}, cell{fmt.Sprint(x.Cycle), ""},
			what(x), cell{oneLine(x.text()), ""})
	}
	if len(all) > 0 {
		if err := t.write(env.stdout); err != nil {
			return err
		}
	}
	_, err := io.WriteString(env.stdout, summary(all))
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

func what(t retold) cell {
	switch {
	case t.Event == "notice":
		return cell{t.Kind, map[string]string{"warning": orange, "critical": red}[t.Kind]}
	case !*t.Warned:
		return cell{"compaction, unwarned", red}
	}
	return cell{"compaction", ""}
}

func (t retold) text() string {
	switch {
	case t.Event == "notice":
		return t.Text
	case t.PreTokens > 0:
		return fmt.Sprintf("%s, %s tokens", t.Trigger, tokensText(t.PreTokens))
	}
	return t.Trigger
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
	return fmt.Sprintf("notices: %s; compactions: %d, %d of them unwarned\n", strings.Join(said, ", "), compactions, unwarned)
}
