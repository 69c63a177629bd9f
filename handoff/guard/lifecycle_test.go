package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/handoff/files"
)

var (
	guardNow   = time.Date(2026, 2, 5, 15, 45, 0, 0, time.UTC)
	guardStart = guardNow.Add(-time.Hour)
)

func noneLives(int, string) bool { return false }

// granted is the answer of a supervisor that restarts.
func granted() error { return nil }

// fails checks for an error that contains a part.
func fails(t *testing.T, what string, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("%s: got %v, want %s", what, err, part)
	}
}

// state returns a state with fields by their names in the file; times are seconds before or
// after guardNow.
func state(t testing.TB, text string) State {
	t.Helper()
	var s State
	names, values := files.Fields(&s)
	for field := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(field, "=")
		to := values[slices.Index(names, name)]
		if offset, err := time.ParseDuration(value); err == nil &&
			to.Type() == reflect.TypeFor[time.Time]() {
			value = guardNow.Add(offset).Format(time.RFC3339)
		}
		noError(t, setText(to, name, value))
	}
	return s
}

// activate assigns a session of a project to a client.
func (p *project) activate(
	name string,
	c Client,
	lives func(int, string) bool,
) (Activated, error) {
	return Activate(p.t.Context(), Activation{
		Dir:    p.session(name),
		Skill:  "implement",
		Client: c,
		Proven: true,
		Now:    guardNow,
		Alive:  lives,
	})
}

func TestGuardActivates(t *testing.T) {
	t.Parallel()
	const (
		mine  = "pid=7 pidStart=100 skill=implement "
		rest  = "startedAt=-1h contextUsage=0.5 currentPhase=Phase-2 lastHeartbeat=-1h "
		going = mine + "sessionId=new lifecycle=active " + rest
		fresh = mine + "lifecycle=active startedAt=0s currentPhase=Phase-2 lastHeartbeat=-1h "
		full  = going + "overflowed=true "
		// never bound to a session
		unbound    = mine + "lifecycle=active overflowed=true " + rest
		restarting = "lifecycle=restarting killRequested=true "
	)
	for _, tt := range []struct{ name, before, client, want string }{
		{"a new session", "", "new 7 100", mine + "lifecycle=active startedAt=0s"},
		{"once more", going, "new 7 100", going},
		{"another skill", going + "skill=test", "new 7 100", going + "currentPhase="},
		{"after a clear", going + "sessionId=old", "new 7 100", fresh},
		{"fresh: another client", full + "sessionId=old pid=6", "new 7 100", fresh},
		{
			"fresh: not bound since the restart",
			unbound + restarting,
			"new 8 200",
			fresh + "pid=8 pidStart=200",
		},
		{"full: the same session", full, "new 7 100", full},
		{"full: resumed in another client", full + "pid=6 pidStart=90", "new 7 100", full},
		{"full: session unknown", full, "- 8 200", full + "pid=8 pidStart=200"},
		{"full: never bound", unbound, "new 7 100", unbound},
		{"full: to be restarted", full + restarting, "new 7 100", full + restarting},
		{
			"after sm run has resumed it", mine + "lifecycle=resuming startedAt=-1h currentPhase=Phase-2", "new 7 100",
			mine + "lifecycle=active startedAt=-1h currentPhase=Phase-2",
		},
		{
			"completed before", "skill=implement lifecycle=completed startedAt=-1h", "new 7 100",
			mine + "lifecycle=active startedAt=0s",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			if tt.before != "" {
				p.put("A", state(t, tt.before))
			}
			var c Client
			fmt.Sscan(tt.client, &c.SessionID, &c.PID, &c.Start)
			c.SessionID = strings.Trim(c.SessionID, "-")
			done, err := p.activate("A", c, noneLives)
			if err != nil || done.Full != strings.HasPrefix(tt.name, "full") ||
				done.SetAside != "" {
				t.Errorf("got %+v, %v", done, err)
			}
			p.want("A", state(t, tt.want))
		})
	}
}

// TestGuardAgentsDoNotCollide tests several agents in one project, each with its own state.
func TestGuardAgentsDoNotCollide(t *testing.T) {
	p := newProject(t)
	lives := func(pid int, start string) bool {
		return pid == 7 && start == "100" ||
			pid == 8 && start == "200"
	}
	activate := func(name string, c Client) error {
		_, err := p.activate(name, c, lives)
		return err
	}
	one := Client{"s1", 7, "100"}
	other := Client{"s2", 8, "200"}
	for name, c := range map[string]Client{"A": one, "B": other} {
		noError(t, activate(name, c))
	}
	fails(t, "another agent's session", activate("A", other), "at work in process 7")
	noError(t, activate("C", other))
	p.want("B", state(t, "skill=implement lifecycle=completed startedAt=0s"))
	p.want("A", state(t, "pid=7 pidStart=100 skill=implement lifecycle=active startedAt=0s"))
	for c, want := range map[Client]string{one: "A", other: "C"} {
		if path, _, _ := Find([]string{p.dir}, c); path != p.state(want) {
			t.Errorf("%v: found %q", c, path)
		}
	}
	// A full session also stays when its client moves to another folder.
	p.put("C", state(t, "pid=8 pidStart=200 sessionId=s2 overflowed=true"))
	fails(t, "leaving a full session", activate("D", other), "has overflowed")
	noError(t, activate("D", Client{"s3", 8, "200"})) // after a clear
	// In this state it has no owner, and any client may take it.
	p.want("C", State{Lifecycle: SessionCompleted})
	if done, err := p.activate("C", Client{"s4", 9, "1"}, lives); err != nil || done.Full {
		t.Errorf("a session that was full before: %+v, %v", done, err)
	}
	// If the full session is unknown, its process must have ended.
	for alive, want := range map[bool]bool{true: true, false: false} {
		p.put("K", State{PID: 6, Lifecycle: SessionRestarting, Overflowed: true})
		done, err := p.activate(
			"K",
			Client{"s5", 10, "1"},
			func(int, string) bool { return alive },
		)
		if err != nil || done.Full != want {
			t.Errorf("full process alive %v: %+v, %v", alive, done, err)
		}
	}
	// It also stays when its client moves to another project, or another process reports.
	q := newProject(t)
	for name, text := range map[string]string{
		"by its process": "pid=8 pidStart=200 sessionId=s3 overflowed=true",
		"resumed":        "pid=5 sessionId=s3 overflowed=true",
	} {
		p.put("F", state(t, text))
		a := Activation{
			Dir:    q.session("G"),
			Skill:  "x",
			Client: Client{"s3", 8, "200"},
			Proven: true,
			Now:    guardNow,
			Dirs:   []string{p.dir},
			Alive:  lives,
		}
		_, err := Activate(t.Context(), a)
		fails(t, name+", to another project", err, "has overflowed")
	}
	p.put("F", State{PID: 5, SessionID: "s3", Lifecycle: SessionActive})
	noError(t, activate("H", Client{"s3", 8, "200"}))
	p.want("F", State{Lifecycle: SessionCompleted}) // a resumed client also has only one session
	// A process with the reused pid of an agent that has ended is another one.
	p.put("E", state(t, "pid=7 pidStart=1 skill=x lifecycle=active"))
	noError(t, activate("E", other))
}

func TestGuardActivationRefuses(t *testing.T) {
	p := newProject(t)
	p.put("A", State{})
	noError(t, os.Symlink(p.session("A"), p.session("link")))
	for dir, want := range map[string]string{
		p.dir:                              "is no folder in sessions",
		filepath.Join(p.session("A"), "x"): "is no folder in sessions",
		p.session(".hidden"):               "is no folder in sessions",
		p.session("link"):                  "is a link",
		p.state("A"):                       "is no folder in sessions",
	} {
		_, err := Activate(t.Context(), Activation{
			Dir:    dir,
			Skill:  "x",
			Client: Client{PID: 7},
			Proven: true,
			Now:    guardNow,
		})
		fails(t, dir, err, want)
	}
}

// TestGuardRestartNeedsDocument tests that there is no restart without a document about this
// work.
func TestGuardRestartNeedsDocument(t *testing.T) {
	client := Client{"s", 7, "100"}
	was := state(
		t,
		"pid=7 pidStart=100 sessionId=s skill=implement lifecycle=active startedAt=-1h overflowed=true",
	)
	dehydrating := was
	dehydrating.Dehydrate(guardNow)
	for _, tt := range []struct {
		name  string
		state State
		text  string
		at    time.Time
		want  string
	}{
		{"written at once", was, "x", guardStart, ""},
		{"of an earlier session", was, "x", guardStart.Add(-time.Second), "is older than"},
		{
			"of before the dehydration",
			dehydrating,
			"x",
			guardNow.Add(-time.Second),
			"is older than",
		},
		{"written after the dehydration", dehydrating, "x", guardNow, ""},
		{"not written", was, "-", guardNow, "is not there"},
		{"another client's", State{
			PID:      8,
			PIDStart: "100",
		}, "x", guardNow, "is the session of another client"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t)
			p.put("A", tt.state)
			if tt.text != "-" {
				doc := filepath.Join(p.session("A"), DocumentFile)
				p.write(doc, tt.text)
				noError(t, os.Chtimes(doc, tt.at, tt.at))
			}
			asked := false
			err := AskRestart(
				t.Context(),
				p.session("A"),
				client,
				func() error { asked = true; return nil },
			)
			if tt.want != "" {
				if fails(t, tt.name, err, tt.want); asked {
					t.Error("requested a restart")
				}
				p.want("A", tt.state)
				return
			}
			s := p.read("A")
			if err != nil || !asked || !s.KillRequested || s.Lifecycle != SessionRestarting ||
				s.RestartPrompt == "" {
				t.Errorf("error %v, asked %v, %+v", err, asked, s)
			}
		})
	}
}

// TestGuardFlowOfRestart tests the sequence from the dehydration on, by files only.
func TestGuardFlowOfRestart(t *testing.T) {
	p := newProject(t)
	dir := p.session("2026_02_05 A")
	old := Client{"s", 7, "100"}
	fresh := Client{"t", 9, "300"}
	activate := func(c Client) {
		t.Helper()
		_, err := p.activate("2026_02_05 A", c, noneLives)
		noError(t, err)
	}
	update := func(f func(*State)) {
		t.Helper()
		noError(t, Update(
			t.Context(),
			filepath.Join(dir, StateFile),
			func(s *State) error { f(s); return nil },
		))
	}
	activate(old)
	update(func(s *State) {
		s.Report(
			old,
			0.8,
			time.Now(),
		)
		s.CurrentPhase = "Phase 5: Build\nLoop"
	})
	update(func(s *State) { testGuard().mark(s, old, 0.8); s.Dehydrate(time.Now()) })
	p.write(filepath.Join(dir, DocumentFile), "What to do next.\n")
	if RestartPrompt(p.dir, 7, "100") != "" {
		t.Error("got a restart without a request")
	}
	refused := errors.New("refused")
	before := p.read("2026_02_05 A")
	if err := AskRestart(
		t.Context(),
		dir,
		old,
		func() error { return refused },
	); !errors.Is(
		err,
		refused,
	) {
		t.Errorf("error %v", err)
	}
	p.want("2026_02_05 A", *before) // without the supervisor nothing has changed
	noError(t, AskRestart(t.Context(), dir, old, granted))

	// A late report of the client that is ending does not bring the session back.
	update(func(s *State) { s.Report(Client{"u", 7, "100"}, 0.1, time.Now()) })
	for _, c := range []Client{{
		PID:   8,
		Start: "100",
	}, {
		PID:   7,
		Start: "99",
	}, {
		PID:   9,
		Start: "300",
	}} {
		if prompt := RestartPrompt(p.dir, c.PID, c.Start); prompt != "" {
			t.Errorf("%v: took the restart of another client, %s", c, prompt)
		}
	}
	prompt := RestartPrompt(filepath.Join(p.dir, "sub"), 7, "100")
	want := "Read " + dir + "/DEHYDRATED_CONTEXT.md and continue the work that it describes. First run: sm session activate '" + dir +
		"' implement (the phase is 'Phase 5: Build Loop')"
	if prompt != want {
		t.Errorf("prompt %q, want %q", prompt, want)
	}
	noError(t, Resumed(p.state("2026_02_05 A"), 9, "300"))
	s := p.read("2026_02_05 A")
	if diff := cmp.Diff(&State{
		PID:           9,
		PIDStart:      "300",
		Skill:         "implement",
		Lifecycle:     SessionResuming,
		CurrentPhase:  "Phase 5: Build\nLoop",
		StartedAt:     s.StartedAt,
		LastHeartbeat: s.LastHeartbeat,
	}, s, onlyFields); diff != "" {
		t.Errorf("resumed (-want +got):\n%s", diff)
	}
	if RestartPrompt(p.dir, 9, "300") != "" {
		t.Error("a second restart")
	}
	update(func(s *State) { s.Report(fresh, 0.1, time.Now()) })
	activate(fresh)
	if s := p.read("2026_02_05 A"); s.SessionID != "t" || s.Lifecycle != SessionActive ||
		s.Overflowed ||
		s.CurrentPhase == "" {
		t.Errorf("after the activation: %+v", s)
	}
	// The document was used: another restart needs another one.
	doc := filepath.Join(dir, DocumentFile)
	past := time.Now().Add(-time.Minute)
	noError(t, os.Chtimes(doc, past, past))
	err := AskRestart(t.Context(), dir, fresh, granted)
	fails(t, "a second restart from the old document", err, "is older than")
}

// TestGuardOwnPrompt tests that a prompt written by a person is used for one restart.
func TestGuardOwnPrompt(t *testing.T) {
	p := newProject(t)
	p.put("A", State{PID: 7, PIDStart: "100", RestartPrompt: "go on"})
	p.write(filepath.Join(p.session("A"), DocumentFile), "x")
	noError(t, AskRestart(t.Context(), p.session("A"), Client{"s", 7, "100"}, granted))
	if prompt := RestartPrompt(p.dir, 7, "100"); prompt != "go on" {
		t.Errorf("prompt %q", prompt)
	}
}
