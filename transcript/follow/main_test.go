package follow

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// tracker returns the goroutines of nxadm/tail, which keeps one tracker, with its inotify
// instance, for the whole process.
func tracker() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/nxadm/tail/watch.(*InotifyTracker).run"),
		goleak.IgnoreAnyFunction("github.com/fsnotify/fsnotify.(*inotify).readEvents"),
		// A tail that gave up, as in tests of unreadable files, can leave that tracker
		// blocked, and each goroutine that adds or removes a watch there.
		goleak.IgnoreAnyFunction("github.com/nxadm/tail/watch.watch"),
		goleak.IgnoreAnyFunction("github.com/nxadm/tail/watch.remove"),
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "8") // most tests wait, for events or for a tick
	}
	goleak.VerifyTestMain(m, tracker()...)
}

// racing reports whether the race detector is on, which takes memory and time.
func racing() bool {
	info, ok := debug.ReadBuildInfo()
	return ok &&
		slices.ContainsFunc(
			info.Settings,
			func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" },
		)
}

// childVariable is set in a process that a test has started to run it alone.
const childVariable = "FOLLOW_TEST_CHILD"

// alone runs the calling test again in a separate process, if it measures or changes the
// whole process. It returns true in that process. One of the attempts has to succeed: several
// are for tests that depend on the machine's load.
func alone(t *testing.T, tries int, attr ...func(*exec.Cmd)) bool {
	t.Helper()
	if os.Getenv(childVariable) != "" {
		return true
	}
	var out []byte
	var err error
	for range tries {
		cmd := exec.CommandContext(
			t.Context(),
			os.Args[0],
			"-test.run=^"+t.Name()+"$",
			"-test.v",
			"-test.timeout=10m",
		)
		cmd.Env = append(os.Environ(), childVariable+"=1")
		for _, a := range attr {
			a(cmd)
		}
		if out, err = cmd.CombinedOutput(); err == nil {
			if testing.Verbose() {
				t.Logf("%s", out)
			}
			return false
		}
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) ||
			errors.Is(err, syscall.EINVAL) {
			t.Skip(err) // no user namespaces here
		}
	}
	t.Errorf("%v\n%s", err, out)
	return false
}

// noErrors fails the test if there are errors.
func noErrors(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
