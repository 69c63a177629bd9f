package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"sm/dashboards/screen"
	"sm/deploy/install"
	"sm/handoff/proc"
	"sm/observer/api"
	"sm/transcript"
	"sm/transcript/claude"
)

// client examines the client that a new session would run, and those that run.
func (d *doctor) client(ctx context.Context) {
	switch c, ok, err := install.ClientInPath(ctx, d.Path, d.Environ); {
	case err != nil:
		d.found("client", Noted, "run claude --version", "%v", err)
	case ok:
		d.clients = append(d.clients, c)
	}
	for _, dir := range d.Projects { // the clock reports that there are none
		d.clients = append(d.clients, install.RunningClients(filepath.Dir(dir))...)
	}
	for _, dir := range d.Projects {
		if c, ok := install.TranscribedClient(filepath.Dir(dir)); ok && len(d.clients) == 0 {
			d.clients = append(d.clients, c)
		}
	}
	if len(d.clients) == 0 {
		d.found("client", Noted, "install it, or put claude into the PATH", "no claude in the PATH, none is running, and none has left a transcript")
	}
	for i, c := range d.clients {
		d.memoryOf(c)
		switch {
		case !install.Older(c.Version, install.OldestClient):
			if i == 0 {
				d.found("client", Healthy, "", "%s", c)
			}
		case c.PID != 0:
			d.found("client", Broken, "end it, and start it anew after claude update", "%s: hooks do not work before %s", c, install.OldestClient)
		default:
			d.found("client", Broken, "run claude update", "%s: hooks do not work before %s", c, install.OldestClient)
		}
	}
}

// withoutArgs is a client that cannot run the hooks without a shell, though it could run others.
func (d *doctor) withoutArgs() (c install.Client, ok bool) {
	for _, c := range d.clients {
		if !install.TakesArgs(c.Version) && !install.Older(c.Version, install.OldestClient) {
			return c, true
		}
	}
	return c, false
}

func (d *doctor) tmux(ctx context.Context) {
	path := proc.LookPath(d.Path, "tmux")
	version := ""
	if path != "" {
		asked, cancel := context.WithTimeout(ctx, install.ProgramPatience)
		defer cancel()
		version = install.Ask(asked, d.Environ, path, "-V")
	}
	switch {
	case path == "":
		d.found("tmux", Noted, "install tmux and start agents in it", "not in the PATH; idle agents cannot be told anything, and contexts cannot be cleared")
	case version == "":
		d.found("tmux", Noted, "run tmux -V and see what it says", "%s does not say its version", path)
	default:
		d.found("tmux", Healthy, "", "%s", version)
	}
}

// sources says when each last spoke of a session.
type sources struct {
	api.Session
	StatuslineAt *time.Time `json:"statusline_at"`
	HookAt       *time.Time `json:"hook_at"`
}

// observer examines whether it answers, and what it has heard.
func (d *doctor) observer(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, install.ProgramPatience)
	defer cancel()
	var all struct {
		Sessions   []json.RawMessage `json:"sessions"`
		CatchingUp bool              `json:"catching_up"`
		Demo       bool              `json:"demo"`
	}
	client := api.NewClient(d.Sockets)
	answer, err := client.Raw(ctx, "/sessions")
	if err == nil {
		err = json.Unmarshal(answer, &all)
	}
	foreign, isForeign := errors.AsType[*api.ForeignError](err)
	switch {
	case isForeign:
		d.found("observer", Broken, "start an observer of your own with sm observe, or name its socket with --socket",
			"%s is served by uid %d, not by you; nothing was sent there", foreign.Path, foreign.UID)
		return
	case errors.Is(err, api.ErrNoObserver):
		d.found("observer", Broken, "start sm observe, or look at what its log ends with", "nothing answers at %s", strings.Join(d.Sockets, ", "))
		return
	case err != nil:
		d.found("observer", Broken, "look at its log, and start it again", "%v", err)
		return
	case all.Demo:
		d.found("observer", Noted, "stop it and start sm observe", "it shows made-up agents, and hears none of yours")
		return
	case all.CatchingUp:
		d.found("observer", Noted, "ask again in a moment", "it is still reading what existed when it started")
	default:
		d.found("observer", Healthy, "", "it answers and knows %d sessions", len(all.Sessions))
	}
	d.build(ctx, client)
	for _, text := range all.Sessions {
		d.session(text)
	}
}

// restartRemedy is what to do about an observer of another build.
const restartRemedy = "restart it: systemctl --user restart sm, or end it and start sm observe"

// build notes an observer of another build than this sm, which an upgrade leaves running. One that does not say its build,
// or not in time, counts as one of this build.
func (d *doctor) build(ctx context.Context, client *api.Client) {
	text, err := client.Text(ctx, "/metrics")
	found := regexp.MustCompile(`(?m)^sm_build_info\{commit="([^"]*)",goversion="[^"]*",version="([^"]*)"\} `).FindSubmatch(text)
	if err != nil || found == nil {
		return
	}
	commit, version := string(found[1]), string(found[2])
	if !strings.HasPrefix(d.Version, "sm "+version+" (") || !strings.Contains(d.Version, ", "+commit) {
		d.found("observer", Noted, restartRemedy, "it is %s (%s), and this is %s", version, commit, d.Version)
	}
}

// session examines when each source last spoke of one that is live.
func (d *doctor) session(text json.RawMessage) {
	var s sources
	if json.Unmarshal(text, &s) != nil || !s.IsActive || s.State == "left" || s.State == "ended" {
		return // nobody speaks for a session that its agent has left
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(text, &members) // it is an object: it has become a session
	_, reported := members["transcript_path"]
	said, remedy := d.transcriptOf(&s, reported)
	spoke := []string{said}
	codex := s.Client == "codex" // it has no status line
	for _, source := range []struct {
		key, name, remedy string
		at                *time.Time
	}{
		{"statusline_at", "status line", "trust the folder in that session, and see above whether the status line is ours", s.StatuslineAt},
		{"hook_at", "hook", "start that session anew if it is older than sm install, and look at /hooks in it", s.HookAt},
	} {
		if _, reported := members[source.key]; !reported || codex && source.key == "statusline_at" {
			continue
		}
		if codex {
			source.remedy = "start that session anew if it is older than sm install, and see above whether the hooks are trusted"
		}
		if source.at == nil {
			spoke, remedy = append(spoke, source.name+" never"), source.remedy
		} else {
			spoke = append(spoke, source.name+" "+screen.Ago(source.at, d.Now))
		}
	}
	if s.WaitForHooks > 0 {
		spoke = append(spoke, fmt.Sprintf("%d messages wait for a hook of this session", s.WaitForHooks))
		remedy = cmp.Or(remedy, HooksRemedy)
	}
	if skew := skewText(clockSkew(s.TranscriptPath)); skew != "" {
		spoke = append(spoke, skew)
		remedy = "set the clock where that client runs; timedatectl shows who keeps it"
	}
	status := Healthy
	if remedy != "" {
		status = Noted
	}
	d.found("session "+screen.FitEnd(s.ShortName(), 20), status, remedy, "%s", strings.Join(spoke, ", "))
}

// transcriptOf says when a session's transcript last grew; reported says that the observer reports where it is.
func (d *doctor) transcriptOf(s *sources, reported bool) (text, remedy string) {
	switch {
	case !reported || s.TranscriptPath != "":
		return "transcript " + screen.Ago(s.LastActive, d.Now), ""
	case s.TokensUsed != nil && *s.TokensUsed > 0: // it has had an answer, so there is one
		return "its transcript is in no folder that is watched", "add the projects folder in that client's CLAUDE_CONFIG_DIR to projects in the configuration"
	}
	return "no transcript yet", ""
}

// skewText says by how much records are stamped wrongly, "" where it does not matter.
func skewText(skew time.Duration) string {
	way := "ahead of"
	if skew < 0 {
		way = "behind"
	}
	if skew.Abs() <= clockSlack {
		return ""
	}
	return fmt.Sprintf("its records are stamped %s %s this machine's clock, so that its context lags", skew.Abs().Round(time.Second), way)
}

// clockSkew is by how much the newest record of a transcript is stamped ahead of the time at which the file was written,
// less than 0 for behind, 0 where nobody can tell.
func clockSkew(path string) (skew time.Duration) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	var e transcript.Entry
	for line := range bytes.Lines(install.ReadTail(path)) {
		// Some records have no stamp, and come long after those that do: they only tell that nothing is ahead.
		if err := claude.Scan(bytes.TrimSuffix(line, []byte("\n")), &e); err != nil || e.At == 0 {
			skew = max(skew, 0)
		} else {
			skew = e.At.Time().Sub(info.ModTime())
		}
	}
	return skew
}
