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
	// centralInterval is the same for a central server, which itself hears of the sessions each few seconds only.
	centralInterval = 5 * time.Second
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
	// Client is whose sessions alone are shown, one of [Clients]; "" for all.
	Client string
	// From is the agent in whose name messages are sent, "" for the user.
	From string
	// Attach makes the command that shows a pane of the tmux server on a socket, "" for the default one. Browse shows an
	// address in the user's browser. Without them those keys say so.
	Attach func(socket, pane string) (*exec.Cmd, error)
	Browse func(ctx context.Context, address string) error
	// Central is the server to ask in the observer's place: nothing can be done to the sessions then, only seen.
	Central Central
}

// Central has the sessions of many machines.
type Central interface {
	// Sessions are all that it knows; an error says in one line what to do.
	Sessions(ctx context.Context) (api.Sessions, error)
	// Name is what the server is called.
	Name() string
}

// Run shows the sessions until the user or ctx ends it. No observer, api.ErrNoObserver, is an
// error at the start only; the client may be nil where there is a Central.
func Run(ctx context.Context, client *api.Client, o Options) error {
	t, ask, every := newModel(o.Colour), func(ctx context.Context) (api.Sessions, error) { return client.TrendingSessions(ctx, o.Client) }, pollInterval
	if o.Central != nil {
		t.central, ask, every = o.Central.Name(), o.Central.Sessions, centralInterval
	}
	t.client = o.Client
	all, err := ask(ctx)
	if err != nil {
		return err
	}
	t.poll(all, nil, time.Now())
	profile := colorprofile.ANSI256
	if !t.colour {
		profile = colorprofile.ASCII
	}
	polling, stop := context.WithCancel(ctx)
	program := tea.NewProgram(teaModel{t, actor{polling, client, o}}, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out),
		tea.WithEnvironment(o.Environ), tea.WithoutSignalHandler(), tea.WithFPS(maxFrames), tea.WithColorProfile(profile))
	var poller sync.WaitGroup
	poller.Go(func() { pollSessions(polling, ask, every, program.Send) })
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

// pollSessions asks again and again until ctx ends.
func pollSessions(ctx context.Context, ask func(context.Context) (api.Sessions, error), every time.Duration, send func(tea.Msg)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			all, err := ask(ctx)
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
