package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sm/dashboards/screen"
	"sm/deploy/install"
	"sm/observer/api"
	"sm/transcript/clients"
)

// observer checks the observer and its sessions.
func (d *doctor) observer(ctx context.Context) {
	const check = "observer"
	ctx, cancel := context.WithTimeout(ctx, install.ProgramPatience)
	defer cancel()
	client := api.NewClient(d.Sockets)
	all, err := client.Sessions(ctx)
	foreign, isForeign := errors.AsType[*api.ForeignError](err)
	switch {
	case isForeign:
		d.broken(check, "start an observer of your own with sm observe, or name its socket with --socket",
			"%s is served by uid %v, not by you; nothing was sent there", foreign.Path, foreign.UID)
		return
	case errors.Is(err, api.ErrNoObserver):
		d.broken(check, "run sm observe, or sm service install to start it at each login",
			"no observer answers at %s, so agents are not warned", strings.Join(d.Sockets, ", "))
		return
	case err != nil:
		d.broken(check, "look at its log, and start it again", "%v", err)
		return
	case all.Demo:
		d.note(check, "stop it and start sm observe",
			"only a demo answers, and it ignores your agents")
		return
	case all.CatchingUp:
		d.note(check, "run sm doctor again in a moment",
			"it is still reading the transcripts that existed when it started")
	default:
		d.ok(check, "it answers and has %d sessions", len(all.Sessions))
	}
	d.build(ctx, client)
	d.watching = all.NotWarned
	for _, s := range all.Sessions {
		if s.IsActive && s.State != "left" && s.State != "ended" {
			d.session(&s)
		}
	}
}

// restartRemedy is the remedy for an observer of another build.
const restartRemedy = "restart it: systemctl --user restart sm, or end it and start sm observe"

// build notes an observer of another build than this sm. An upgrade leaves it
// running.
func (d *doctor) build(ctx context.Context, client *api.Client) {
	text, err := client.Metrics(ctx)
	found := regexp.MustCompile(`(?m)^sm_build_info\{commit="([^"]*)",goversion="[^"]*",version="([^"]*)"\} `).FindSubmatch(text)
	if err != nil || found == nil {
		return
	}
	commit := string(found[1])
	version := string(found[2])
	if !strings.HasPrefix(d.Version, "sm "+version+" (") ||
		!strings.Contains(d.Version, ", "+commit) {
		d.note("observer", restartRemedy, "it is %s (%s), and this is %s", version, commit,
			d.Version)
	}
}

// session checks when each source of an active session was last used.
func (d *doctor) session(s *api.Session) {
	var parts, causes []string
	var remedy string
	add := func(todo, format string, args ...any) {
		part := fmt.Sprintf(format, args...)
		parts = append(parts, part)
		if todo != "" {
			causes = append(causes, part)
			remedy = todo
		}
	}
	switch {
	case s.TranscriptPath != "":
		add("", "transcript %s", screen.Ago(s.LastActive, d.Now))
	case s.TokensUsed != nil && *s.TokensUsed > 0: // after a reply there is a transcript
		add("add the projects folder in that client's CLAUDE_CONFIG_DIR to projects in the configuration",
			"its transcript is in no folder that is watched")
	default:
		add("", "no transcript yet")
	}

	const restart = "give that session a prompt if it had none since sm install, and "
	trouble := restart + "look at /hooks in it"
	if s.Client != "" && s.Client != clients.Claude {
		trouble = restart + "see the check codex hooks"
	} else if s.StatuslineAt == nil { // Codex has none
		add(
			"trust the folder in that session, and see the check status line",
			"status line never",
		)
	} else {
		add("", "status line %s", screen.Ago(s.StatuslineAt, d.Now))
	}
	if s.HookAt == nil {
		add(trouble, "hook never")
	} else {
		add("", "hook %s", screen.Ago(s.HookAt, d.Now))
	}
	if s.WaitForHooks > 0 {
		add(
			cmp.Or(remedy, HooksRemedy),
			"%d messages wait for a hook of this session",
			s.WaitForHooks,
		)
	}

	if d.watching {
		causes = []string{"known from transcripts alone, as no hook was ever called"}
		remedy = "run sm install, and give them a prompt"
		if d.hooked {
			remedy = "give them a prompt, or start them anew"
		}
	}

	f := Finding{
		Check:  "session " + screen.FitEnd(s.ShortName(), 20),
		Status: Noted,
		Text:   strings.Join(parts, ", "),
		Remedy: remedy,
		Cause:  strings.Join(causes, ", "),
	}
	if remedy == "" {
		f.Status = Healthy
		f.Cause = "all is well"
	}
	if d.Anonymous {
		f.Check = "session"
		f.Text = f.Cause
	}
	d.findings = append(d.findings, f)
}
