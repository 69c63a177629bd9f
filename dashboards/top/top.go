package top

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"sm/dashboards/central"
	"sm/observer/api"
)

const (
	pollInterval    = time.Second
	centralInterval = 5 * time.Second // central servers do not scrape more often
	maxFrames       = 10              // per second
)

// Options configure the view.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Environ []string // NAME=value, to recognize the terminal
	Colour  bool
	Client  string // show sessions of this client only; "" for all
	From    string // the agent that sends messages, "" for the user

	// Attach returns the command that shows a pane of the tmux server on a
	// socket, "" for the default one.
	Attach func(socket, pane string) (*exec.Cmd, error)
	// Browse opens an address in the user's browser.
	Browse func(ctx context.Context, address string) error
	// Central is queried instead of the observer. Its sessions are read-only, so
	// Attach and Browse are not used.
	Central *central.Server
}

// Run shows the sessions until the user quits or ctx ends. The client may be
// nil if there is a Central. A missing observer, api.ErrNoObserver, is an error
// only at the start.
func Run(ctx context.Context, client *api.Client, o Options) error {
	t := newModel(o.Colour)
	t.Client = o.Client
	ask := func(ctx context.Context) (api.Sessions, error) {
		return client.TrendingSessions(ctx, o.Client)
	}
	interval := pollInterval
	if o.Central != nil {
		t.Central = o.Central.Name
		ask = o.Central.Sessions
		interval = centralInterval
	}
	all, err := ask(ctx)
	if err != nil {
		return err
	}
	t.poll(all, nil, time.Now())

	polling, stop := context.WithCancel(ctx)
	defer stop()
	program := tea.NewProgram(
		teaModel{
			model: t,
			actor: actor{polling, client, o},
			ask: func() tea.Msg {
				all, err := ask(polling)
				return polled{all, err, time.Now()}
			},
			interval: interval,
		},
		tea.WithContext(ctx),
		tea.WithInput(o.In),
		tea.WithOutput(o.Out),
		tea.WithEnvironment(o.Environ),
		tea.WithoutSignalHandler(),
		tea.WithFPS(maxFrames),
		tea.WithColorProfile(colorprofile.ANSI256), // the model removes colours
	)
	_, err = program.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil // a signal ended it
	}
	return err
}

// polled is an answer of the observer, or the error of the query.
type polled struct {
	all api.Sessions
	err error
	at  time.Time
}

// teaModel passes the events of the terminal to the model.
type teaModel struct {
	*model
	actor
	ask      tea.Cmd
	interval time.Duration
}

// Init queries the observer after an interval, as Update does after each
// answer.
func (p teaModel) Init() tea.Cmd {
	return tea.Tick(p.interval, func(time.Time) tea.Msg { return p.ask() })
}

func (p teaModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case polled:
		p.poll(m.all, m.err, m.at)
		return p, p.Init()
	case tea.WindowSizeMsg:
		p.Width = m.Width
		p.height = m.Height
	case tea.KeyPressMsg:
		if m.String() == "ctrl+z" {
			return p, tea.Suspend
		}
		if p.key(m.String(), m.Text) {
			return p, tea.Quit
		}
		return p, p.do(p.take())
	case tea.MouseWheelMsg:
		n := map[tea.MouseButton]int{tea.MouseWheelUp: -3, tea.MouseWheelDown: 3}[m.Button]
		p.first += n
		p.move(n)
	case tea.MouseClickMsg:
		if m.Button == tea.MouseLeft {
			p.click(m.Y)
		}
	case tea.PasteMsg:
		p.paste(m.Content)
	case note:
		p.note = m
	case handedOver:
		if m.agent == p.selected {
			p.handed = m.handed
		}
	}
	return p, nil
}

func (p teaModel) View() tea.View {
	v := tea.NewView(p.screen())
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = "sm top"
	return v
}
