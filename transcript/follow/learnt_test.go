package follow

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sm/transcript"
	"sm/transcript/claude"
)

// TestElsewhere tests that a folder named by a client may be followed only if it has the
// layout of a client and belongs to this user.
func TestElsewhere(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	noErrors(t, err)
	projects := filepath.Join(dir, "config", "projects")
	project := filepath.Join(projects, "-home-dev-web")
	good := filepath.Join(project, idA+".jsonl")
	put := func(path string) string {
		t.Helper()
		noErrors(t, os.MkdirAll(filepath.Dir(path), 0o700))
		noErrors(t, os.WriteFile(path, []byte("{}\n"), 0o600))
		return path
	}
	put(good)
	noErrors(t, os.Symlink(good, filepath.Join(project, idB+".jsonl")))
	noErrors(t, os.Symlink(filepath.Join(dir, "config"), filepath.Join(dir, "link")))
	foreign := put(filepath.Join(dir, "secret", "-var-lib", idA+".jsonl"))
	noErrors(t, os.Symlink(filepath.Dir(foreign), filepath.Join(projects, "-linked")))
	hard := filepath.Join(projects, "-hard", idA+".jsonl")
	put(hard)
	noErrors(t, os.Remove(hard), os.Link(put(filepath.Join(dir, "other")), hard))
	pipe := filepath.Join(projects, "-pipe", idA+".jsonl")
	noErrors(t, os.MkdirAll(filepath.Dir(pipe), 0o700), syscall.Mkfifo(pipe, 0o600))
	for _, tt := range []struct {
		name, path, session, want string
	}{
		{"the layout of clients", good, idA, projects},
		{
			"by a link to the whole configuration",
			filepath.Join(dir, "link", "projects", "-home-dev-web", idA+".jsonl"),
			idA,
			projects,
		},
		{"of another session", good, idB, ""},
		{"of no session", good, "", ""},
		{
			"not there",
			filepath.Join(project, "33333333-3333-4333-8333-333333333333.jsonl"),
			"33333333-3333-4333-8333-333333333333",
			"",
		},
		{"a link", filepath.Join(project, idB+".jsonl"), idB, ""},
		{"a hard link", hard, idA, ""},
		{"a pipe", pipe, idA, ""},
		{
			"a project that is a link",
			filepath.Join(projects, "-linked", idA+".jsonl"),
			idA,
			"",
		},
		{
			"a project with another name",
			put(filepath.Join(projects, "web", idA+".jsonl")),
			idA,
			"",
		},
		{"not among projects", foreign, idA, ""},
		{"too deep", put(filepath.Join(project, "sub", idA+".jsonl")), idA, ""},
		{"relative", "projects/-home-dev-web/" + idA + ".jsonl", idA, ""},
		{"with dots", dir + "/config/x/../projects/-home-dev-web/" + idA + ".jsonl", idA, ""},
		{"by a link of the kernel", "/proc/self/root" + good, idA, projects},
		{"nothing", "", idA, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, ok := Elsewhere(claude.Format(), tt.path, tt.session)
			if root != tt.want || ok != (tt.want != "") {
				t.Errorf("got %q, %t; want %q", root, ok, tt.want)
			}
		})
	}
	if _, ok := IsRoot(claude.Format(), filepath.Join(dir, "link", "projects")); ok {
		t.Error("a folder behind a link may be followed")
	}
	for _, dir := range []string{"/proc/projects", "/", "", dir} {
		if _, ok := IsRoot(claude.Format(), dir); ok {
			t.Errorf("%s may be followed", dir)
		}
	}
}

// TestLearn tests that an added folder is followed like configured ones, from then on and
// after a restart, except for links and for folders that are not named like projects.
func TestLearn(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		other := filepath.Join(filepath.Dir(r.root), "elsewhere", "projects")
		at := func(project, id string) string {
			return filepath.Join(
				other,
				project,
				id+".jsonl",
			)
		}
		learn := make(chan Root, 1)
		r.o.Learn = learn
		r.append(r.path("-p", idA+".jsonl"), reply(1, 100))
		outside := filepath.Join(filepath.Dir(r.root), "outside")
		r.append(filepath.Join(outside, idA+".jsonl"), reply(1, 100))
		r.append(at("-q", idB), reply(1, 100))
		r.must(os.Symlink(outside, filepath.Join(other, "-link")))
		r.append(at("code", idB), reply(1, 100))
		r.start()
		const idC = "33333333-3333-4333-8333-333333333333"
		learn <- Root{other, claude.Format()}
		r.hold("learnt", map[string]int64{at("-q", idB): 1})
		r.chmod(filepath.Dir(at("code", idB)), 0o755) // inotify has an event for these
		r.append(at("code2", idB), reply(1, 100))
		r.append(at("-q", idB), reply(2, 200))
		r.append(at("-later", idC), reply(1, 100))
		agent := filepath.Join(other, "-q", idB, "subagents", "agent-1.jsonl")
		r.append(agent, reply(1, 100))
		r.hold(
			"a later session and a subagent",
			map[string]int64{at("-q", idB): 2, at("-later", idC): 1, agent: 1},
		)
		r.stop()
		r.append(at("-q", idB), reply(3, 300))
		r.o.Learnt = []Root{{other, claude.Format()}}
		r.start()
		r.hold("after a restart", map[string]int64{at("-q", idB): 3})
		r.append(at("-q", idB), reply(4, 400))
		r.hold("and on", map[string]int64{at("-q", idB): 4})
		for path := range r.files {
			if strings.HasPrefix(filepath.Base(filepath.Dir(path)), "code") ||
				transcript.Within(outside, path) ||
				filepath.Base(filepath.Dir(path)) == "-link" {
				t.Errorf("%s is followed", path)
			}
		}
	})
}
