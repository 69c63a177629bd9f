package top

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"sm/observer/api"
)

const (
	// pollInterval is how often the observer is asked.
	pollInterval = time.Second
	// maxFrames bounds how often the screen is looked over for changes, each second.
	maxFrames = 10
)

// Options are where the view is drawn, and how.
type Options struct {
	In  io.Reader
	Out io.Writer
	// Environ are the variables by which the terminal is known, as NAME=value.
	Environ []string
	// Colour says whether the terminal takes colours.
	Colour bool
	// From is the agent in whose name messages are sent, "" for the user.
	From string
	// Attach makes the command that shows a pane of the tmux server on a socket, "" for the default one. Browse shows an
	// address in the user's browser. Without them those keys say so.
	Attach func(socket, pane string) (*exec.Cmd, error)
	Browse func(ctx context.Context, address string) error
}

// Run shows the sessions until the user or ctx ends it. No observer, api.ErrNoObserver, is an
// error at the start only.
func Run(ctx context.Context, client *api.Client, o Options) error {
	all, err := client.TrendingSessions(ctx)
	if err != nil {
		return err
	}
	t := newModel(o.Colour)
	t.poll(all, nil, time.Now())
	profile := colorprofile.ANSI256
	if !t.colour {
		profile = colorprofile.ASCII
	}
	polling, stop := context.WithCancel(ctx)
	program := tea.NewProgram(teaModel{t, actor{polling, client, o}}, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out),
		tea.WithEnvironment(o.Environ), tea.WithoutSignalHandler(), tea.WithFPS(maxFrames), tea.WithColorProfile(profile))
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

// polled is an answer of the observer, or that there was none.
type polled struct {
	all api.Sessions
	err error
	at  time.Time
}

// pollSessions asks the observer again and again until ctx ends.
func pollSessions(ctx context.Context, client *api.Client, send func(tea.Msg)) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			all, err := client.TrendingSessions(ctx)
			if ctx.Err() != nil {
				return
			}
			send(polled{all, err, time.Now()})
		case <-ctx.Done():
			return
		}
	}
}

// teaModel hands what happens in the terminal to a top.
type teaModel struct {
	*model
	actor
}

func (p teaModel) Init() tea.Cmd { return nil }

func (p teaModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
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
		return p, p.do(p.take())
	case tea.PasteMsg:
		p.paste(m.Content)
	case note:
		p.note = m
	case handedOver:
		if m.agent == p.selected {
			p.handed = m.what
		}
	}
	return p, nil
}

func (p teaModel) View() tea.View {
	v := tea.NewView(p.screen())
	v.AltScreen, v.WindowTitle = true, "sm top"
	return v
}
