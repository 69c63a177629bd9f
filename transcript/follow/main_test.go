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

// nxadm/tail keeps one tracker, with its inotify instance, for the whole process.
func tracker() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/nxadm/tail/watch.(*InotifyTracker).run"),
		goleak.IgnoreAnyFunction("github.com/fsnotify/fsnotify.(*inotify).readEvents"),
		// A tail that gave up, as those of the tests of denied files do, can
		// leave that tracker waiting for good, and with it each goroutine that
		// asks it to watch or to leave a file.
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

// alone runs the calling test again in a process of its own, for what is measured
// or changed for a process as a whole. It reports true in that process. One of the
// tries has to succeed: more than one is for what depends on the machine's load.
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

// noErrors fails the test by the errors that there are.
func noErrors(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
