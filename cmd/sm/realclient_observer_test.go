//go:build realclient

package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sm/observer/api"
)

// observerProcess is the real program, watching one home. It may be killed and started again.
type observerProcess struct {
	t                      *testing.T
	program, state, socket string
	projects, log          string
	path                   string // where it finds other programs
	config                 string // its file, "" for none
	codex                  string // the home of Codex, "" for none
	cmd                    *exec.Cmd
	client                 *api.Client
	http                   http.Client
}

// buildProgram compiles the program under test.
func buildProgram(t *testing.T, dir string) string {
	t.Helper()
	program := filepath.Join(dir, "sm")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

// newObserverProcess prepares an observer with a state directory of its own; start runs it.
func newObserverProcess(t *testing.T, program, dir, projects string) *observerProcess {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o := &observerProcess{
		t:        t,
		program:  program,
		state:    dir + "/state",
		socket:   dir + "/sm.sock",
		projects: projects,
		log:      dir + "/log",
		path:     os.Getenv("PATH"),
	}
	o.client = api.NewClient([]string{o.socket})
	o.http = http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", o.socket)
		},
		DisableKeepAlives: true,
	}}
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(o.log)
			t.Logf("the observer's log:\n%s", text)
		}
		o.kill()
	})
	return o
}

func (o *observerProcess) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, o.program, args...)
	cmd.Dir = filepath.Dir(o.state)
	cmd.Env = []string{"PATH=" + o.path, "HOME=" + cmd.Dir, "LANG=C.UTF-8", "NO_COLOR=1"}
	if o.codex != "" {
		cmd.Env = append(cmd.Env, "CODEX_HOME="+o.codex)
	}
	return cmd
}

// start runs the observer and waits until it has caught up.
func (o *observerProcess) start() {
	o.t.Helper()
	o.launch()
	eventually(o.t, "the observer is ready", func() string {
		if _, err := o.get("/-/ready"); err != nil {
			return err.Error()
		}
		return ""
	})
}

// launch runs the observer.
func (o *observerProcess) launch() {
	o.t.Helper()
	log, err := os.OpenFile(o.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		o.t.Fatal(err)
	}
	defer log.Close()
	o.cmd = o.command(
		context.WithoutCancel(o.t.Context()),
		"observe",
		"--projects",
		o.projects,
		"--state",
		o.state,
		"--listen",
		"127.0.0.1:0",
		"--socket",
		o.socket,
	)
	if o.config != "" {
		o.cmd.Args = append(o.cmd.Args, "--config", o.config)
	}
	o.cmd.Stderr = log
	if err := o.cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
}

// kill ends the observer at once, as kill -9 and a power failure of the program do.
func (o *observerProcess) kill() {
	if o.cmd != nil {
		_ = o.cmd.Process.Kill() // it may have ended by itself: Wait tells
		_ = o.cmd.Wait()
		o.cmd = nil
	}
}

// stop ends the observer in order.
func (o *observerProcess) stop() {
	o.t.Helper()
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		o.t.Fatal(err)
	}
	if err := o.cmd.Wait(); err != nil {
		o.t.Errorf("the observer ends with: %v", err)
	}
	o.cmd = nil
}

func (o *observerProcess) get(path string) ([]byte, error) {
	resp, err := o.http.Get("http://localhost" + path)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return body, err
}

// metricValues are the lines of /metrics by name and labels.
type metricValues map[string]float64

func (o *observerProcess) metrics() metricValues {
	o.t.Helper()
	body, err := o.get("/metrics")
	if err != nil {
		o.t.Fatal(err)
	}
	m := metricValues{}
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			o.t.Fatalf("/metrics has %q: %v", line, err)
		}
		m[line[:i]] = v
	}
	return m
}

// called waits until the client has called so many hooks of an event.
func (o *observerProcess) called(event string, times float64) {
	o.t.Helper()
	series := fmt.Sprintf("sm_hook_events_total{event=%q}", event)
	eventually(o.t, event+" is called", func() string {
		if n := o.metrics()[series]; n < times {
			return fmt.Sprintf("%v times, want %v", n, times)
		}
		return ""
	})
}

// lasting is what must be the same after a restart: all that is about sessions and all that was counted, but for the
// time of the last activity, which lines that mean nothing move as well, and the state, which the client may change meanwhile.
func (m metricValues) lasting() metricValues {
	out := metricValues{}
	for series, v := range m {
		if strings.HasPrefix(series, "agent_") && !strings.HasPrefix(series, "agent_session_last_activity") &&
			!strings.HasPrefix(series, "agent_session_state{") {
			out[series] = v
		}
	}
	return out
}

// sessions asks as `sm status --json` does, by session id.
func (o *observerProcess) sessions() map[string]api.Session {
	o.t.Helper()
	all, err := o.client.Sessions(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	byID := map[string]api.Session{}
	for _, s := range all.Sessions {
		byID[s.SessionID] = s
	}
	return byID
}

// scanned is a line of `sm scan --json`, without the figures that an observer has only as sums.
type scanned struct {
	SessionID    string          `json:"session_id"`
	Path         string          `json:"path"`
	Project      string          `json:"project"`
	CWD          string          `json:"cwd"`
	Model        string          `json:"model"`
	Version      string          `json:"version"`
	StartedAt    *time.Time      `json:"started_at"`
	LastActivity *time.Time      `json:"last_activity_at"`
	Context      *int64          `json:"context_tokens"`
	Window       int64           `json:"window_tokens"`
	WindowSource string          `json:"window_source"`
	Used         *int            `json:"used_percentage"`
	Peak         int64           `json:"peak_context_tokens"`
	Compactions  api.Compactions `json:"compactions"`
	Inherited    int             `json:"inherited_compactions"`
	Turns        int             `json:"turns"`
	Messages     int             `json:"messages"`
	Tokens       api.Tokens      `json:"tokens"`
	Subagents    api.Subagents   `json:"subagents"`
}

// scan runs `sm scan --json` over the same transcripts.
func (o *observerProcess) scan() map[string]scanned {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	cmd := o.command(ctx, "scan", "--json", o.projects)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil || errOut.Len() > 0 {
		o.t.Fatalf("sm scan: %v, and says %q", err, &errOut)
	}
	byID := map[string]scanned{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var s scanned
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			o.t.Fatalf("sm scan --json: %v\n%s", err, lines.Bytes())
		}
		byID[s.SessionID] = s
	}
	return byID
}

// asScanned returns an observer's figures of a session in the form of sm scan.
func asScanned(s api.Session) scanned {
	return scanned{
		SessionID:    s.SessionID,
		Path:         s.TranscriptPath,
		Project:      s.Project,
		CWD:          s.CWD,
		Model:        s.Model,
		Version:      s.Version,
		StartedAt:    s.StartedAt,
		LastActivity: s.LastActive,
		Context:      s.TokensUsed,
		Window:       s.WindowTokens,
		WindowSource: s.WindowSource,
		Used:         s.UsedPercentage,
		Peak:         s.PeakTokens,
		Compactions:  s.Compactions,
		Inherited:    s.Inherited,
		Turns:        s.Turns,
		Messages:     s.Messages,
		Tokens:       s.Tokens,
		Subagents:    s.Subagents,
	}
}
