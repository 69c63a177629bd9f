package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sm/observer/api"
	"sm/transcript/hook"
)

// programPatience is how long another program may take to say its version.
const programPatience = 10 * time.Second

// client examines the client that a new session would run.
func (d *doctor) client(ctx context.Context) {
	version, from := d.clientVersion(ctx)
	switch {
	case version == "":
		d.found("client", noted, "install it, or put claude into the PATH", "no claude in the PATH, and none is running")
	case !hook.AtLeast(version, 2, 1, 139):
		d.found("client", broken, "run claude update", "%s, by %s: it cannot run hooks without a shell, as 2.1.139 and later do", version, from)
	default:
		d.found("client", healthy, "", "%s, by %s", version, from)
	}
}

func (d *doctor) clientVersion(ctx context.Context) (version, from string) {
	if path := d.env.lookPath("claude"); path != "" {
		if version, _, _ := strings.Cut(d.ask(ctx, path, "--version"), " "); hook.AtLeast(version, 0) {
			return version, path
		}
	}
	dirs, _ := projectDirs(d.cfg, d.env) // the clock reports that there are none
	var newest int64
	for _, dir := range dirs {
		entries, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "sessions", "*.json")) // the pattern is right
		for _, path := range entries {
			var c struct {
				Version string `json:"version"`
				Started int64  `json:"startedAt"`
			}
			text, err := os.ReadFile(path)
			if err == nil && json.Unmarshal(text, &c) == nil && hook.AtLeast(c.Version, 0) && c.Started > newest {
				version, from, newest = c.Version, path, c.Started
			}
		}
	}
	return version, from
}

// ask runs a program that says one line.
func (d *doctor) ask(ctx context.Context, path string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, programPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.WaitDelay = d.env.vars(), time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return firstLine(out)
}

func (d *doctor) tmux(ctx context.Context) {
	path := d.env.lookPath("tmux")
	version := ""
	if path != "" {
		version = d.ask(ctx, path, "-V")
	}
	switch {
	case path == "":
		d.found("tmux", noted, "install tmux and start agents in it", "not in the PATH; idle agents cannot be told anything, and contexts cannot be cleared")
	case version == "":
		d.found("tmux", noted, "run tmux -V and see what it says", "%s does not say its version", path)
	default:
		d.found("tmux", healthy, "", "%s", version)
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
	ctx, cancel := context.WithTimeout(ctx, programPatience)
	defer cancel()
	var all struct {
		Sessions   []json.RawMessage `json:"sessions"`
		CatchingUp bool              `json:"catching_up"`
		Demo       bool              `json:"demo"`
	}
	answer, err := api.NewClient(d.sockets).Raw(ctx, "/sessions")
	if err == nil {
		err = json.Unmarshal(answer, &all)
	}
	switch {
	case errors.Is(err, api.ErrNoObserver):
		d.found("observer", broken, "start sm observe, or look at what its log ends with", "nothing answers at %s", strings.Join(d.sockets, ", "))
		return
	case err != nil:
		d.found("observer", broken, "look at its log, and start it again", "%v", err)
		return
	case all.Demo:
		d.found("observer", noted, "stop it and start sm observe", "it shows made-up agents, and hears none of yours")
		return
	case all.CatchingUp:
		d.found("observer", noted, "ask again in a moment", "it is still reading what existed when it started")
	default:
		d.found("observer", healthy, "", "it answers and knows %d sessions", len(all.Sessions))
	}
	for _, text := range all.Sessions {
		d.session(text)
	}
}

// session examines when each source last spoke of one that is live.
func (d *doctor) session(text json.RawMessage) {
	var s sources
	if json.Unmarshal(text, &s) != nil || !s.IsActive {
		return
	}
	var told map[string]json.RawMessage
	_ = json.Unmarshal(text, &told) // it is an object: it has become a session
	spoke, remedy := []string{"transcript " + ago(s.LastActive, d.now)}, ""
	if _, reported := told["transcript_path"]; reported && s.TranscriptPath == "" {
		spoke[0] = "no transcript yet"
	}
	for _, source := range []struct {
		key, name, remedy string
		at                *time.Time
	}{
		{"statusline_at", "status line", "trust the folder in that session, and see above whether the status line is ours", s.StatuslineAt},
		{"hook_at", "hook", "start that session anew if it is older than sm install, and look at /hooks in it", s.HookAt},
	} {
		if _, reported := told[source.key]; !reported {
			continue
		}
		if source.at == nil {
			spoke, remedy = append(spoke, source.name+" never"), source.remedy
		} else {
			spoke = append(spoke, source.name+" "+ago(source.at, d.now))
		}
	}
	status := healthy
	if remedy != "" {
		status = noted
	}
	d.found("session "+sessionName(s.Session), status, remedy, "%s", strings.Join(spoke, ", "))
}
