package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/handoff/files"
)

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// project is a folder with sessions.
type project struct {
	t   testing.TB
	dir string
}

func newProject(t testing.TB) *project { return &project{t, t.TempDir()} }

func (p *project) session(name string) string { return filepath.Join(p.dir, Folder, name) }
func (p *project) state(name string) string {
	return filepath.Join(
		p.session(name),
		StateFile,
	)
}

func (p *project) put(name string, s State) string {
	p.t.Helper()
	text, err := s.Encode()
	noError(p.t, err)
	p.write(p.state(name), string(text))
	return p.state(name)
}

func (p *project) write(path, text string) {
	p.t.Helper()
	noError(
		p.t,
		errors.Join(
			os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644),
		),
	)
}

func (p *project) read(name string) *State {
	p.t.Helper()
	s, err := Read(p.state(name))
	noError(p.t, err)
	return s
}

func (p *project) want(name string, want State) {
	p.t.Helper()
	if diff := cmp.Diff(&want, p.read(name), onlyFields); diff != "" {
		p.t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

const writerUpdates = 500

// TestGuardWriterProcess is the other process of TestGuardTwoWriters.
func TestGuardWriterProcess(t *testing.T) {
	path, field, ok := strings.Cut(os.Getenv("SM_TEST_GUARD_WRITER"), "=")
	if !ok {
		t.Skip("run by TestGuardTwoWriters")
	}
	for range writerUpdates {
		err := Update(t.Context(), path, func(s *State) error {
			if field == "skill" {
				s.Skill = fmt.Sprint(len(s.Skill) + 1)[:1] + s.Skill
			} else {
				s.CurrentPhase += "."
			}
			return nil
		})
		noError(t, err)
	}
}

// TestGuardTwoWriters tests that two writers never lose each other's fields, nor fields
// unknown to both, and that a reader sees complete files.
func TestGuardTwoWriters(t *testing.T) {
	p := newProject(t)
	path := p.put("A", State{PID: 7})
	p.write(path, `{"todo":[1, 2],"pid":7}`)
	ended := make(chan error, 2)
	for _, field := range []string{"skill", "phase"} {
		cmd := exec.CommandContext(
			t.Context(),
			os.Args[0],
			"-test.run=^TestGuardWriterProcess$",
			"-test.count=1",
		)
		cmd.Env = append(os.Environ(), "SM_TEST_GUARD_WRITER="+path+"="+field)
		noError(t, cmd.Start())
		go func() { ended <- cmd.Wait() }()
	}
	for left := 2; left > 0; {
		select {
		case err := <-ended:
			if left--; err != nil {
				t.Error(err)
			}
		default:
			if s, err := Read(path); err != nil || s.PID != 7 {
				t.Fatalf("read %+v, %v", s, err)
			}
		}
	}
	s := p.read("A")
	if len(s.Skill) != writerUpdates || len(s.CurrentPhase) != writerUpdates {
		t.Errorf(
			"%d and %d updates are left, of %d each",
			len(s.Skill),
			len(s.CurrentPhase),
			writerUpdates,
		)
	}
	if text := encodeGuard(
		t,
		s,
	); !strings.Contains(
		strings.Join(strings.Fields(text), ""),
		`"todo":[1,2]`,
	) {
		t.Errorf("lost unknown fields: %s", text)
	}
	names, err := filepath.Glob(filepath.Join(p.session("A"), ".*"))
	if err != nil || len(names) != 2 {
		t.Errorf("left behind: %q, %v", names, err)
	}
}

func TestGuardUpdate(t *testing.T) {
	p := newProject(t)
	path := p.put("A", State{PID: 7})
	noError(t, os.Chmod(path, 0o640))
	p.write(path+".new", "left by a kill") // must not matter
	set := func(skill string, err error) error {
		return Update(t.Context(), path, func(s *State) error { s.Skill = skill; return err })
	}
	noError(t, set("a", nil))
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	odd := errors.New("odd")
	if err := set("b", odd); !errors.Is(err, odd) {
		t.Errorf("error %v", err)
	}
	noError(t, set("c", errUnchanged))
	p.want("A", State{PID: 7, Skill: "a"})
	if again, err := os.Stat(path); err != nil || !os.SameFile(info, again) {
		t.Errorf("written without a change: %v", err)
	}
	if err := Update(t.Context(), p.state("B"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such session: %v", err)
	}
}

// TestGuardLockHeld tests that a held lock is waited for, within the caller's timeout.
func TestGuardLockHeld(t *testing.T) {
	p := newProject(t)
	path := p.put("A", State{PID: 7})
	root, err := os.OpenRoot(filepath.Dir(path))
	noError(t, err)
	defer root.Close()
	lock, err := files.Lock(t.Context(), root, filepath.Base(path)+".lock")
	if err != nil || lock == nil {
		t.Fatal(lock, err)
	}
	defer lock.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := Update(
		ctx,
		path,
		func(*State) error { t.Error("changed"); return nil },
	); !errors.Is(
		err,
		context.DeadlineExceeded,
	) {
		t.Errorf("error %v", err)
	}
}

// hostile returns functions that put other things in the place of a state file.
func hostile(t *testing.T) map[string]func(path string) {
	must := func(err error) { noError(t, err) }
	text := func(s string) func(string) {
		return func(path string) { must(os.WriteFile(path, []byte(s), 0o600)) }
	}
	return map[string]func(string){
		"a pipe":   func(path string) { must(syscall.Mkfifo(path, 0o600)) },
		"a folder": func(path string) { must(os.Mkdir(path, 0o700)) },
		"a link": func(path string) {
			text(seedState)(path + ".real")
			must(os.Symlink(
				path+".real",
				path,
			))
		},
		"a device": func(path string) { must(os.Symlink("/dev/zero", path)) },
		"nothing":  text(""),
		"no JSON":  text("pid: 12345\n"),
		"10 MB": text(`{"sessionId":"abc-123-def","a":"` + strings.Repeat(
			"x",
			10<<20,
		) + `"}`),
		"brackets that close": text(`{"sessionId":"abc-123-def","a":` + strings.Repeat(
			"[",
			100_000,
		) + strings.Repeat(
			"]",
			100_000,
		) + "}"),
	}
}

// TestGuardHostileFiles tests that any other content of a state file counts as no state, and
// that an activation keeps the file under another name.
func TestGuardHostileFiles(t *testing.T) {
	client := Client{"abc-123-def", 12345, "1"}
	for name, put := range hostile(t) {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			path := p.put("A", State{})
			noError(t, os.Remove(path))
			put(path)
			before, err := os.Lstat(path)
			noError(t, err)
			if found, _, ok := Find([]string{p.dir}, client); ok {
				t.Errorf("found %s", found)
			}
			if err := Update(
				t.Context(),
				path,
				func(*State) error { return nil },
			); !errors.Is(
				err,
				ErrDamaged,
			) {
				t.Errorf("update: %v", err)
			}
			done, err := p.activate("A", client, noneLives)
			noError(t, err)
			if kept, err := os.Lstat(done.SetAside); err != nil ||
				!os.SameFile(before, kept) ||
				!strings.Contains(done.SetAside, ".damaged-20260205-154500") {
				t.Errorf("kept as %q: %v", done.SetAside, err)
			}
			p.want("A", State{
				PID:       12345,
				PIDStart:  "1",
				Skill:     "implement",
				Lifecycle: SessionActive,
				StartedAt: guardNow,
			})
		})
	}
}

func TestGuardHostileFolders(t *testing.T) {
	p := newProject(t)
	client := Client{"s", 7, "1"}
	path := p.put("A", State{SessionID: "s"})
	below := filepath.Join(p.dir, "below")
	noError(t, errors.Join(
		os.Mkdir(below, 0o700),
		syscall.Mkfifo(filepath.Join(below, Folder), 0o600),
		syscall.Mkfifo(p.session("pipe"), 0o600),
		os.Symlink(p.session("A"), p.session("Z")),
	))
	p.write(p.session("file"), "x")
	for _, dir := range []string{
		p.dir,
		below,
		below + "/none/../",
		filepath.Join(below, "a", "b"),
	} {
		if got, _, ok := Find([]string{"", "relative", dir}, client); !ok || got != path {
			t.Errorf("%s: found %q", dir, got)
		}
	}
}
