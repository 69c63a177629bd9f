package observer

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/exporter-toolkit/web"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff"
	"sm/handoff/files"
	"sm/handoff/rotation"
	"sm/observer/access"
	"sm/observer/alertmanager"
	"sm/observer/fleet"
	"sm/observer/httpclient"
	"sm/observer/notify"
	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/clients"
	"sm/transcript/follow"
)

// Options are the settings of an App.
type Options struct {
	// Clients are all clients, with the folders of their transcripts.
	Clients clients.Table
	// State is the folder of the observer's state.
	State string
	// Origin returns the agent and pane in the environment of a client's process; nil
	// for none.
	Origin func(pid int) hook.Origin
	// Enqueuer queues messages for idle threads of Codex; nil for none.
	Enqueuer Enqueuer
	// Web creates the page at /.
	Web func(*App) (Web, error)
	// Socket is the path of the Unix socket, Listen the loopback addresses.
	Socket string
	Listen []string
	// MetricsListen, when set, is the address of a server of /metrics and
	// health checks alone, with the passwords and TLS settings of
	// WebConfigFile.
	MetricsListen, WebConfigFile string
	// DryRun logs what would be sent to agents and the operator, without sending or
	// storing it.
	DryRun bool
	// Passed are sockets that the service manager has opened for these addresses.
	Passed access.Passed
	// Demo means that the sessions are simulated. Answers are marked, and
	// only App.Hook takes input from agents.
	Demo bool
	// Sanitise turns a text into one line without invisible characters.
	Sanitise func(text string) string
	// Terminal reaches idle clients; nil for none.
	Terminal Terminal
	// Alive reports whether a process runs. An empty start time matches any.
	Alive func(pid int, start string) bool
	// Ancestry lists a process and its ancestors, the nearest first; nil if the
	// system does not show them.
	Ancestry        func(pid int) []fleet.Process
	Version, Commit string
	Logger          *slog.Logger
	// Level, when set, is the level of Logger, which is set to
	// Settings.LogLevel.
	Level *slog.LevelVar
	// Settings are the initial settings.
	Settings
	// Reload, when set, reads the configuration again; see App.Reload. restart
	// lists the changed keys that need a restart.
	Reload func() (s Settings, restart []string, err error)
	// Stats has the counters of reading transcripts.
	Stats *follow.Stats
	// CaughtUp, when set, is called once at the end of catch-up with the number
	// of transcripts that no client writes to. It must return at once.
	CaughtUp func(transcripts int)
}

// Check returns the error with which an observer would refuse the options: an
// invalid template, or an invalid file for metrics.listen.
func (o *Options) Check() error {
	if _, err := alerts.New(o.Alerts); err != nil {
		return err
	}
	if err := o.Alertmanager.Check(); err != nil {
		return err
	}
	if o.MetricsListen == "" || o.WebConfigFile == "" {
		return nil
	}
	_, err := files.ReadSmall(o.WebConfigFile)
	if err == nil {
		err = web.Validate(o.WebConfigFile)
	}
	if err != nil {
		return fmt.Errorf(
			"read %s: %w; see metrics.web_config_file",
			o.WebConfigFile,
			httpclient.OneLine(httpclient.WithoutValues(err)),
		)
	}
	return nil
}

// Settings are the part of Options that may change while an observer runs. They
// are never changed in place: Apply replaces them.
type Settings struct {
	// AllowedHosts are additional names of this server, and AllowedUIDs
	// additional users, that are admitted over TCP.
	AllowedHosts []string
	AllowedUIDs  []uint32
	// WebhookToken admits Alertmanager over TCP; "" admits no request.
	WebhookToken string
	// Alertmanager has the servers that are polled for alerts of this machine;
	// the zero value is none.
	Alertmanager alertmanager.Options
	// SessionTTL is how long after its last activity a session stays in
	// /metrics, and MaxSessions how many sessions are shown there; 0 is without
	// limit for both.
	SessionTTL  time.Duration
	MaxSessions int
	// HideProject leaves the project out of /metrics.
	HideProject bool
	Windows     []transcript.WindowRule
	Prices      transcript.Prices
	// Alerts are the settings of the policy, Queue those of the messages.
	Alerts alerts.Options
	Queue  outbox.Options
	// Operator receives the operator's notices, which are also logged; nil for
	// the log alone.
	Operator *notify.Command
	// Waiting is how long an agent waits for a person before the operator is
	// notified, 0 for never.
	Waiting time.Duration
	// Guard refuses the tool calls of sessions whose context is full; the zero value is off.
	Guard GuardOptions
	// TypeTexts allows to type complete texts of others if no hook of the
	// client works; otherwise these texts wait for a hook.
	TypeTexts bool
	// Rereads adds the names of files that were read again after compactions to
	// automatic documents and critical notices.
	Rereads bool
	Handoff HandoffOptions
	// LogLevel is the value for Options.Level.
	LogLevel slog.Level
}

// HandoffOptions are the settings of handoffs.
type HandoffOptions struct {
	Rotations rotation.Options
	// Documents stores the documents. Channels are the configured channels.
	Documents *handoff.Documents
	Channels  []handoff.Channel
	// DocumentBytes limits the size of a document, Characters the part of it
	// that a new session gets, in UTF-16 code units.
	DocumentBytes int64
	Characters    int
	// AutoDocument creates a document before each compaction. AutoRotate
	// restarts an agent under `sm run` whose context is critical.
	AutoDocument, AutoRotate bool
}

// Web is the page at / and its events.
type Web interface {
	Page(http.ResponseWriter, *http.Request) error
	Events(http.ResponseWriter, *http.Request) error
	// Close ends all streams of events. It may be called more than once.
	Close()
}

// Enqueuer adds a text to the queue that Codex keeps for a thread. The thread
// takes it as a prompt once it is idle. A text whose id is queued already is
// not added again. placed means that the queue may have the text; an error
// without placed, that it does not.
type Enqueuer interface {
	Enqueue(ctx context.Context, to fleet.Thread, id, text string) (placed bool, err error)
}

// Terminal types to clients that are idle at their prompt, where no hook runs.
type Terminal interface {
	// Type types one line at a client's prompt and presses Enter, if the prompt
	// is empty and idle, which is called last, returns nil. With finish it only
	// presses Enter, if the prompt already has exactly this text. typed means
	// that the client may have the text; an error without typed, that nothing
	// was typed.
	Type(
		ctx context.Context,
		at fleet.Place,
		text string,
		finish bool,
		idle func(context.Context) error,
	) (typed bool, err error)
}

// Watched returns the folders of transcripts: all of the default client, and
// the existing ones of the others.
func (o *Options) Watched() []string {
	dirs := slices.Clone(o.Clients.Default().Dirs)
	for _, c := range o.Clients[:len(o.Clients)-1] {
		for _, dir := range c.Dirs {
			if files.IsDir(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}
