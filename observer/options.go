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
	// Enqueuer gives messages to idle threads of Codex; nil for none.
	Enqueuer Enqueuer
	// Web makes the page at /.
	Web func(*App) (Web, error)
	// Socket is the path of the Unix socket, Listen the loopback addresses.
	Socket string
	Listen []string
	// MetricsListen, when set, is an address for /metrics and health alone, with the
	// passwords and TLS of WebConfigFile.
	MetricsListen, WebConfigFile string
	// DryRun logs what would be sent to agents and the operator, without sending or
	// storing it.
	DryRun bool
	// Passed are sockets that the service manager has opened for these addresses.
	Passed access.Passed
	// Demo means that the sessions are simulated. Answers are marked, and
	// only App.Hook takes input from agents.
	Demo bool
	// Sanitise makes a text fit for an agent: one line, without what cannot be seen.
	Sanitise func(text string) string
	// Terminal reaches idle clients; nil for none.
	Terminal Terminal
	// Alive reports whether a process runs. An empty start time matches any.
	Alive func(pid int, start string) bool
	// Ancestry lists a process and those that it descends from, the nearest first; nil
	// where the system does not show it.
	Ancestry        func(pid int) []fleet.Process
	Version, Commit string
	Logger          *slog.Logger
	// Level, when set, is that of Logger; it follows Settings.LogLevel.
	Level *slog.LevelVar
	// Settings are those to begin with.
	Settings
	// Reload, when set, reads the configuration again: see App.Reload. The keys in restart
	// have changed and wait for a restart.
	Reload func() (s Settings, restart []string, err error)
	// Stats counts what has been read.
	Stats *follow.Stats
	// CaughtUp, when set, is called once, when the history has been read;
	// transcripts is how many are known that nothing writes to now. It must
	// return at once.
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
// are never changed in place: Apply puts others into their stead.
type Settings struct {
	// AllowedHosts and AllowedUIDs are names of this server and users that TCP
	// is open to, besides the usual ones.
	AllowedHosts []string
	AllowedUIDs  []uint32
	// WebhookToken admits Alertmanager over TCP; "" admits no request.
	WebhookToken string
	// Alertmanager names servers that are asked for alerts of this machine; the
	// zero value for none.
	Alertmanager alertmanager.Options
	// SessionTTL is how long after its last activity a session stays in
	// /metrics, MaxSessions how many are shown there at most; 0 is without
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
	// Operator gets each notice to the operator, besides the log; nil for the log alone.
	Operator *notify.Command
	// Waiting is how long an agent waits for a person until the operator is notified, 0
	// for never.
	Waiting time.Duration
	// Guard refuses the tool calls of sessions whose context is full; the zero value is off.
	Guard GuardOptions
	// TypeTexts lets texts of others be typed whole where no hook of the client
	// works; else they wait for one.
	TypeTexts bool
	// Rereads has automatic documents and critical notices name files that were
	// read again after compactions.
	Rereads bool
	Handoff HandoffOptions
	// LogLevel is the least that Options.Level lets through.
	LogLevel slog.Level
}

// HandoffOptions are the settings of handoffs.
type HandoffOptions struct {
	Rotations rotation.Options
	// Documents keeps the documents; Channels are those configured.
	Documents *handoff.Documents
	Channels  []handoff.Channel
	// DocumentBytes limits a document, Characters the part of it that a new session
	// gets, in UTF-16 units.
	DocumentBytes int64
	Characters    int
	// AutoDocument makes a document before each compaction, AutoRotate restarts an agent
	// under `sm run` whose context is critical.
	AutoDocument, AutoRotate bool
}

// Web is the page at / and its events.
type Web interface {
	Page(http.ResponseWriter, *http.Request) error
	Events(http.ResponseWriter, *http.Request) error
	// Close ends all streams of events, and what open pages need. It may be called more than once.
	Close()
}

// Enqueuer adds a text to the queue that Codex keeps for a thread. The thread
// takes it as a prompt once it is idle. A text whose id is queued already is not
// added again. placed means that the queue may have the text; an error without
// placed means that it has not.
type Enqueuer interface {
	Enqueue(ctx context.Context, to fleet.Thread, id, text string) (placed bool, err error)
}

// Terminal reaches clients that wait at their prompt, where no hook comes.
type Terminal interface {
	// Type types one line at a client's prompt and presses Enter, if the prompt is
	// empty and idle, which is asked last, agrees. With finish it only presses Enter, if
	// the text is at the prompt already, exactly and alone. typed means that the client may
	// have the text; an error without typed means that nothing was typed.
	Type(
		ctx context.Context,
		at fleet.Place,
		text string,
		finish bool,
		idle func(context.Context) error,
	) (typed bool, err error)
}

// Watched returns the folders of transcripts: those of the default client, and those
// of the others that exist.
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
