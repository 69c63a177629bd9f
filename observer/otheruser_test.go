package observer

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// needs skips a test whose needs are not met, or fails it if no test may be skipped.
func needs(t *testing.T, what string, met bool) {
	t.Helper()
	switch {
	case met:
	case os.Getenv("CI") == "true":
		t.Fatal("needs " + what)
	default:
		t.Skip("needs " + what)
	}
}

// stranger returns another user; only root can run processes as other users.
func stranger(t *testing.T) (uid uint32, credential *syscall.SysProcAttr) {
	t.Helper()
	needs(
		t,
		"root on Linux, to run a process as another user",
		os.Geteuid() == 0 && runtime.GOOS == "linux",
	)
	id := uint64(65534)
	for _, name := range []string{"prometheus", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			if id, err = strconv.ParseUint(u.Uid, 10, 32); err == nil && id != 0 {
				break
			}
		}
	}
	return uint32(id), &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uint32(id), Gid: uint32(id)},
	}
}

// fetchAsStranger returns what another user gets from these addresses.
func fetchAsStranger(t *testing.T, urls ...string) []answer {
	t.Helper()
	_, credential := stranger(t)
	self, err := os.Open("/proc/self/exe") // in a directory that others cannot enter
	noErrors(t, err)
	defer self.Close()
	cmd := exec.CommandContext(t.Context(), "/proc/self/fd/3")
	cmd.ExtraFiles = []*os.File{self}
	cmd.Dir = "/"
	cmd.SysProcAttr = credential
	cmd.Env = []string{fetchTargets + "=" + strings.Join(urls, " ")}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	var answers []answer
	for in := json.NewDecoder(bytes.NewReader(out)); in.More(); {
		var a answer
		noErrors(t, in.Decode(&a))
		answers = append(answers, a)
	}
	if len(answers) != len(urls) {
		t.Fatalf("%d answers to %d requests: %s", len(answers), len(urls), out)
	}
	return answers
}
