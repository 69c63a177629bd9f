package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sm/cmd/internal/hooks"
	"sm/cmd/internal/places"
	"sm/observer/api"
)

const (
	foreignServer = "sm-foreign-server"
	asUserName    = "sm-as-user"
	asUserVar     = "SM_TEST_UID"
	asSmallVar    = "SM_TEST_SMALL" // it is sm-hook
	countRequest  = "count\n"
)

// becomeUser changes from root to the uid in asUserVar.
func becomeUser() {
	uid, err := strconv.Atoi(os.Getenv(asUserVar))
	if err == nil && uid != 0 {
		err = errors.Join(syscall.Setgroups(nil), syscall.Setgid(uid), syscall.Setuid(uid))
	}
	if err != nil {
		panic(err)
	}
}

// smAsUser is sm, run by another user.
func smAsUser() {
	becomeUser()
	if os.Getenv(asSmallVar) != "" {
		os.Exit(hooks.Main(os.Args))
	}
	main()
}

// asPrograms are variables for each program that has a command.
func asPrograms(name string) [][]string {
	if name == "hook" || name == "statusline" {
		return [][]string{nil, {asSmallVar + "=1"}}
	}
	return [][]string{nil}
}

// serveForeign is a process of another user that serves the socket named by its argument. It
// refuses requests and counts the bytes it receives, except those of countRequest, which it
// answers with the count.
func serveForeign() {
	becomeUser()
	l, err := net.Listen("unix", os.Args[1])
	if err == nil {
		err = os.Chmod(os.Args[1], 0o777)
	}
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	total := 0
	buffer := make([]byte, 64<<10)
	for { // one after another, so that the count covers all connections made before the request for it
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		n, _ := c.Read(buffer)
		if string(buffer[:n]) == countRequest {
			_, _ = fmt.Fprintln(c, total)
		} else if n > 0 {
			_, _ = io.WriteString(
				c,
				"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
			)
			rest, _ := io.Copy(io.Discard, c)
			total += n + int(rest)
		}
		_ = c.Close()
	}
}

// foreignRig is a user, and a socket served by another user.
type foreignRig struct {
	t    *testing.T
	user int
	home string // the user's
	path string // of the socket
}

// newForeignRig starts a server of uid at a socket in a folder of uid.
func newForeignRig(t *testing.T, user, uid int) *foreignRig {
	t.Helper()
	home := privateTemp(t)
	theirs := privateTemp(t)
	r := &foreignRig{t, user, home, filepath.Join(theirs, "sm", places.SocketName)}
	err := errors.Join(os.Mkdir(
		filepath.Dir(r.path),
		0o755,
	), os.Chmod(
		theirs,
		0o755,
	), os.Chown(
		theirs,
		uid,
		uid,
	),
		os.Chown(filepath.Dir(r.path), uid, uid), os.Chown(home, user, user))
	noErrors(t, err)
	cmd := exec.Command(foreignServer, r.path)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", asUserVar, uid))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	noErrors(t, err)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the server printed %q, %v", line, err)
	}
	return r
}

// count returns the number of bytes that the server received.
func (r *foreignRig) count() (n int) {
	r.t.Helper()
	c, err := net.Dial("unix", r.path)
	noErrors(r.t, err)
	defer c.Close()
	_, err = io.WriteString(c, countRequest)
	if err == nil {
		_, err = fmt.Fscan(c, &n)
	}
	noErrors(r.t, err)
	return n
}

// run runs sm as the user and returns its standard error.
func (r *foreignRig) run(vars []string, args ...string) (stderr string) {
	r.t.Helper()
	// Commands time out long before this; a hang shows as a killed command.
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, asUserName, args...)
	cmd.Dir = r.home
	cmd.Env = append([]string{
		quickRace, "PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "TERM=xterm", "CLAUDE_SESSION_MANAGER_ID=em",
		fmt.Sprintf("%s=%d", asUserVar, r.user),
	}, vars...)
	var errOut bytes.Buffer
	cmd.Stdin = strings.NewReader(`{"hook_event_name":"Stop","session_id":"s"}`)
	cmd.Stderr = &errOut
	if err := cmd.Run(); ctx.Err() != nil || cmd.ProcessState == nil {
		r.t.Errorf("%q: %v: %s", args, err, &errOut)
	}
	return errOut.String()
}

// TestForeignSocket tests that clients send no byte to a socket served by a process of
// another user, including root.
func TestForeignSocket(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can be two other users")
	}
	const user, other = 1001, 65534
	asks := func(t *testing.T, r *foreignRig, vars, flags []string, want bool) {
		t.Helper()
		for _, args := range [][]string{
			{"status"},
			{"send", "em", "hi"},
			{"hook"},
			{"statusline"},
		} {
			for _, program := range asPrograms(args[0]) {
				before := r.count()
				r.run(
					slices.Concat(vars, program),
					slices.Concat(args[:1], flags, args[1:])...,
				)
				if sent := r.count() > before; sent != want {
					t.Errorf(
						"sm %s %v has sent something: %t, want %t",
						args[0],
						program,
						sent,
						want,
					)
				}
			}
		}
	}
	t.Run("control", func(t *testing.T) { // a server of the same user is asked, so that the count below is meaningful
		r := newForeignRig(t, user, user)
		asks(t, r, []string{"SM_SOCKET=" + r.path}, nil, true)
	})
	for _, uid := range []int{other, 0} {
		t.Run(fmt.Sprint("uid ", uid), func(t *testing.T) {
			t.Parallel()
			r := newForeignRig(t, user, uid)
			runtime := []string{"XDG_RUNTIME_DIR=" + filepath.Dir(filepath.Dir(r.path))}
			asks(t, r, runtime, nil, false)
			asks(t, r, []string{"SM_SOCKET=" + r.path}, nil, false)
			asks(t, r, nil, []string{"--socket", r.path}, false)
			want := fmt.Sprintf(
				"sm: %s is served by uid %d and you are uid %d; start an observer of your own with 'sm observe', or name its socket with --socket\n",
				r.path,
				uid,
				user,
			)
			if got := r.run(nil, "status", "--socket", r.path); got != want {
				t.Errorf("sm status: got %q, want %q", got, want)
			}
		})
	}
}

// TestForeignSocketPassedOver tests that a socket of another user is skipped for a later one
// of this user.
func TestForeignSocketPassedOver(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	r := newForeignRig(t, 0, 65534)
	e := newListener(t, respond("answer"))
	if got := answerOf(
		t.Context(),
		[]string{r.path, e.socket},
		[]byte("{}"),
	); string(got) != "answer" || len(e.all()) != 1 ||
		r.count() != 0 {
		t.Errorf("answer %q; our observer received %q, the other %d bytes", got, e.all(), r.count())
	}
	_, err := api.Dial([]string{r.path, r.home + "/none"})
	want := &api.ForeignError{Path: r.path, UID: 65534}
	if got, is := errors.AsType[*api.ForeignError](err); !is || *got != *want ||
		!errors.Is(err, api.ErrNoObserver) {
		t.Errorf("got %v, want %v", err, want)
	}
}
