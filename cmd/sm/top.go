package main

import (
	"context"
	"errors"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/spf13/cobra"

	"sm/observer/api"
)

const (
	// topEvery is how often the observer is asked.
	topEvery = time.Second
	// topFrames bounds how often the screen is looked over for changes, each second.
	topFrames = 10
)

func newTopCommand(env *environ) *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Watch the fleet in the terminal",
		Long: "Show sessions as they change: how full each context is, where its client compacts, and what is under way. Those\n" +
			"that have been quiet for longer than metrics.session_ttl, or are more than metrics.max_sessions, are left out.\n" +
			"? lists the keys. Without colours where NO_COLOR is set.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !terminal(env.stdin) || !terminal(env.stdout) {
				return absentf("this is no terminal to draw on; use 'sm status'")
			}
			client, err := env.client(cmd)
			if err != nil {
				return err
			}
			return env.runTop(cmd.Context(), client)
		},
	}
}

// runTop shows the sessions until the user or ctx ends it. That there is no observer is an error at the start alone.
func (env *environ) runTop(ctx context.Context, client *api.Client) error {
	all, err := client.RecentSessions(ctx)
	if err != nil {
		return statusError(err)
	}
	t := newTop(env.colourful())
	t.poll(all, nil, time.Now())
	profile := colorprofile.ANSI256
	if !t.colour {
		profile = colorprofile.ASCII
	}
	program := tea.NewProgram(topProgram{t}, tea.WithContext(ctx), tea.WithInput(env.stdin), tea.WithOutput(env.stdout),
		tea.WithEnvironment(env.vars()), tea.WithoutSignalHandler(), tea.WithFPS(topFrames), tea.WithColorProfile(profile))
	polling, stop := context.WithCancel(ctx)
	var poller sync.WaitGroup
	poller.Go(func() { pollSessions(polling, client, program.Send) })
	_, err = program.Run()
	stop()
	poller.Wait()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil // as asked, by a signal
	}
	return err
}

// colourful says whether the terminal takes colours.
func (env *environ) colourful() bool {
	kind, _ := env.lookupEnv("TERM")
	return env.colours(env.stdout) && kind != "dumb"
}

// polled is an answer of the observer, or that there was none.
type polled struct {
	all api.Sessions
	err error
	at  time.Time
}

// pollSessions asks the observer again and again until ctx ends.
func pollSessions(ctx context.Context, client *api.Client, send func(tea.Msg)) {
	tick := time.NewTicker(topEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			all, err := client.RecentSessions(ctx)
			if ctx.Err() != nil {
				return
			}
			send(polled{all, err, time.Now()})
		case <-ctx.Done():
			return
		}
	}
}

// topProgram hands what happens in the terminal to a top.
type topProgram struct{ *top }

func (p topProgram) Init() tea.Cmd { return nil }

func (p topProgram) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case polled:
		p.poll(m.all, m.err, m.at)
	case tea.WindowSizeMsg:
		p.width, p.height = m.Width, m.Height
	case tea.KeyPressMsg:
		if m.String() == "ctrl+z" {
			return p, tea.Suspend
		}
		if p.key(m.String(), m.Text) {
			return p, tea.Quit
		}
	}
	return p, nil
}

func (p topProgram) View() tea.View {
	v := tea.NewView(p.screen())
	v.AltScreen, v.WindowTitle = true, "sm top"
	return v
}
