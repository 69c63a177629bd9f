package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"sm/cmd/internal/caller"
	"sm/handoff/guard"
	"sm/handoff/supervise"
	"sm/observer/api"
)

// registerWithin limits how long the start of a client waits for the
// registration of its agent.
const registerWithin = time.Second

// maxAgentID is the length of the longest id that the observer accepts, in
// bytes.
const maxAgentID = 128

func newRunCommand(env *environ) *cobra.Command {
	reg := api.Registration{Provider: "claude"}
	cmd := command(`run [--name N] [--parent ID] [--provider P] -- COMMAND [ARG]...
Run a client and restart it for handoffs

Run a client on this terminal as an agent. On a handoff, or SIGUSR1, the client is ended and restarted with a fresh
session, at most supervise.restarts times, but not after it ended by itself or by Ctrl-C. The restart omits the first
prompt and arguments that resume a session (--resume, --continue, --session-id, --fork-session, --from-pr; resume and
fork of Codex). The exit code is the client's; 128 plus the signal if a signal killed it; 127 if it was not found; 126
if it cannot be run.

$ sm run --name web -- claude
$ sm run --name tests --parent web -- claude --model sonnet
$ sm run --name api -- codex --no-daemon

--name the name and id of the agent is <NAME>
--parent the agent that is notified of its compactions, by <ID>; by default the calling agent
--provider the client is <P>: claude or codex; by default derived from the command
`, flags{
		"name":     &reg.Name,
		"parent":   &reg.ParentID,
		"provider": &reg.Provider,
	}, func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("no client to run: give one, as in 'sm run -- claude'")
		}
		if !env.guardian {
			self := append([]string{"sm", caller.GuardianCommand}, os.Args[1:]...)
			if code, ok := supervise.Guard(self); ok {
				return &exitError{code: code}
			}
		}
		r, err := env.newAgentRun(cmd, reg, args)
		if err != nil {
			return err
		}
		return r.run(cmd.Context())
	})
	cmd.Flags().SetInterspersed(false) // the client's flags are its own
	return cmd
}

// agentRun is one call of `sm run`.
type agentRun struct {
	env          *environ
	registration api.Registration
	observer     *api.Client
	options      supervise.Options
}

func (env *environ) newAgentRun(
	cmd *cobra.Command,
	reg api.Registration,
	argv []string,
) (*agentRun, error) {
	cfg, observer, err := env.reach(cmd)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	table := clientTable(nil, nil, nil)
	if !cmd.Flags().Changed("provider") {
		for _, c := range table {
			if c.Starts != nil && c.Starts(argv) {
				reg.Provider = c.Client
			}
		}
	}
	if err := env.complete(&reg); err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w; change to one that exists", err)
	}
	client := table.Named(reg.Provider)
	again := client.Again
	if client.Client != reg.Provider || client.Starts != nil && !client.Starts(argv) {
		again = supervise.Unknown(reg.Provider)
	}
	socket := env.Get("SM_SOCKET")
	if cmd.Flags().Changed("socket") {
		socket = cfg.Socket // its hooks must find the same observer
	}
	supervisor := os.Getpid()
	if env.guardian {
		supervisor = os.Getppid() // it passes signals on
	}
	r := &agentRun{env: env, registration: reg, observer: observer}
	r.options = supervise.Options{
		Argv:      argv,
		Env:       agentVars(env.Vars(), reg, supervisor, socket),
		Guardian:  env.guardian,
		Restarts:  cfg.Supervise.Restarts,
		TermAfter: cfg.Supervise.TermAfter,
		Again:     again,
		Prompt: func(now supervise.Process) string {
			return cmp.Or(
				guard.RestartPrompt(dir, now.PID, now.Start),
				"Continue where you left off.",
			)
		},
		// The next client takes over the guarded session. A failure is not
		// reported: the terminal is the client's, and the session can be
		// activated again.
		Resumed: func(old, now supervise.Process) {
			client := guard.Client{PID: old.PID, Start: old.Start}
			if path, _, ok := guard.Find([]string{dir}, client); ok {
				_ = guard.Resumed(path, now.PID, now.Start)
			}
		},
		// The reason is printed at the end.
		Refused: func(client supervise.Process, reason string) {
			_ = guard.RestartRefused(dir, client.PID, client.Start, reason)
		},
		Observer: r,
	}
	for i, stream := range []any{env.Stdin, env.Stdout, env.Stderr} {
		r.options.Files[i], _ = stream.(*os.File) // the client gets no other streams
	}
	return r, nil
}

// complete checks a registration, and fills in the id, the provider and the
// parent.
func (env *environ) complete(r *api.Registration) error {
	for flag, value := range map[string]string{
		"name":     r.Name,
		"parent":   r.ParentID,
		"provider": r.Provider,
	} {
		if len(value) > maxAgentID || strings.ContainsFunc(value, func(c rune) bool {
			return c == ' ' || !unicode.IsPrint(c)
		}) {
			return usagef(
				"--%s %s is not one word of at most %d bytes: give another",
				flag,
				quote(value),
				maxAgentID,
			)
		}
	}
	r.ID = cmp.Or(r.Name, strings.ToLower(rand.Text()[:16]))
	r.Provider = cmp.Or(r.Provider, "claude")
	if r.ParentID == r.ID {
		return usagef("--parent is the agent itself: name another")
	}
	for _, name := range []string{"CLAUDE_SESSION_MANAGER_ID", "SM_PARENT_ID"} {
		if value := env.Get(name); r.ParentID == "" && value != r.ID {
			r.ParentID = value
		}
	}
	return nil
}

// agentVars returns the client's environment: vars with the agent's id, name
// and parent. It removes variables that another client has set for its own
// processes, as they would identify the wrong agent.
func agentVars(vars []string, s api.Registration, self int, socket string) []string {
	own := map[string]string{
		"CLAUDE_SESSION_MANAGER_ID": s.ID,
		"SM_PARENT_ID":              s.ParentID,
		"SM_NAME":                   s.Name,
		"SM_PROVIDER":               s.Provider,
		"CLAUDE_SUPERVISOR_PID":     strconv.Itoa(self),
		"CLAUDE_PID":                "",
		"CLAUDE_CODE_SESSION_ID":    "",
		"SM_SOCKET":                 socket,
	}
	vars = slices.DeleteFunc(slices.Clone(vars), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		_, is := own[name]
		return is
	})
	for name, value := range own {
		if value != "" {
			vars = append(vars, name+"="+value)
		}
	}
	return vars
}

func (r *agentRun) run(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// From here on signals are for the client.
	ctx = context.WithoutCancel(ctx)
	if _, missing := exec.LookPath(r.options.Argv[0]); missing == nil {
		registered := r.register(ctx)
		_, unknown := r.options.Again(r.options.Argv, "")
		if unknown == nil && errors.Is(registered, api.ErrNoObserver) {
			r.env.note("no observer is running, and none can rotate this agent until one does; start it with 'sm observe'")
		}
	}
	result, err := supervise.Run(r.options)
	if result.Restarts > 0 {
		r.env.note("restarted the client %d of %d times", result.Restarts, r.options.Restarts)
	}
	for _, reason := range result.Refused {
		r.env.note("did not restart the client: %s", reason)
	}
	if result.Left > 0 {
		r.env.note("%d processes of the client do not end; see 'ps -o pid,stat,args'", result.Left)
	}
	if err != nil || result.Code != 0 {
		return &exitError{result.Code, err}
	}
	return nil
}

func (r *agentRun) register(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, registerWithin)
	defer cancel()
	_, err := r.observer.Register(ctx, r.registration)
	return err
}

// Next asks the observer for the next step. It registers the agent again if the
// observer does not have it, as one that was started later.
func (r *agentRun) Next(
	ctx context.Context,
	s supervise.Status,
) (supervise.Instruction, error) {
	in, err := r.observer.NextInstruction(ctx, r.registration.ID, api.Run{
		Client:       s.Client.PID,
		Start:        s.Client.Start,
		RestartsLeft: s.RestartsLeft,
		CanRestart:   s.CanRestart,
		Restarting:   s.Restarting,
		Handled:      s.Outcome.Rotation,
		Outcome:      s.Outcome.Result,
		Reason:       s.Outcome.Reason,
	})
	if api.StatusCode(err) == http.StatusNotFound {
		_ = r.register(ctx) // the next call shows whether it worked
	}
	return supervise.Instruction(in), err
}
