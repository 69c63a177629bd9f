package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestClientPID(t *testing.T) {
	procDir := procWith(t, "stat", map[int]string{
		10: "10 (sh) S 20 10 10", 20: "20 (bash) S 30 0", 30: "30 (claude) S 40 0", 40: "40 (zsh) S 1 0",
		50: "50 (a) (sh) S 30", 60: "60 (sh) S 1 0", 70: "70 sh", 100: "100 (sh) S 100",
	})
	for _, tt := range []struct {
		named        string
		parent, want int
	}{
		{
			"4711",
			10,
			4711,
		},
		{
			"",
			10,
			30,
		},
		{
			"0",
			20,
			30,
		},
		{
			"1",
			30,
			30,
		},
		{
			"x",
			30,
			30,
		},
		{
			"",
			50,
			50,
		},
		{
			"",
			60,
			0,
		},
		{"", 70, 70},
		{"", 100, 100},
		{"", 99, 99},
		{"", 1, 0},
	} {
		if got := ClientPID(
			tt.named,
			tt.parent,
			Lineage(procDir, tt.parent),
		); got != tt.want {
			t.Errorf("%q, parent %d: %d, want %d", tt.named, tt.parent, got, tt.want)
		}
	}
	if _, err := Stat(procDir, 70); err == nil || !strings.Contains(err.Error(), "no name") {
		t.Errorf("error %v", err)
	}
}

// procWith returns a /proc with a file for each process.
func procWith(t *testing.T, file string, texts map[int]string) string {
	t.Helper()
	procDir := t.TempDir()
	for pid, text := range texts {
		dir := filepath.Join(procDir, fmt.Sprint(pid))
		noError(t, os.Mkdir(dir, 0o700))
		noError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	return procDir
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestChildOf(t *testing.T) {
	procDir := procWith(t, "stat", map[int]string{
		10: "10 (a b) S 20 0", 20: "20 (a b) S 30 0", 30: "30 (a b) S 40 0", 40: "40 (a b) S 1 0",
		50: "50 (a b) S 60 0", 60: "60 (a b) S 50 0", 70: "70 (a b) S 0 0",
	})
	for _, tt := range []struct {
		ancestor, pid, want int
		ok                  bool
	}{
		{
			40,
			10,
			30,
			true,
		}, {
			20,
			10,
			10,
			true,
		}, {
			10,
			10,
			0,
			false,
		}, {
			99,
			10,
			0,
			false,
		}, {
			1,
			10,
			0,
			false,
		}, {
			99,
			50,
			0,
			false,
		}, {
			10,
			70,
			0,
			false,
		}, {
			10,
			80,
			0,
			false,
		},
	} {
		if got, ok := ChildOf(tt.ancestor, tt.pid, procDir); got != tt.want || ok != tt.ok {
			t.Errorf("%d of %d: %d, %v", tt.ancestor, tt.pid, got, ok)
		}
	}
}

func TestParse(t *testing.T) {
	const rest = " S 10 20 30 34817 40 4194304 1 2 3 4 5 6 7 8 20 0 1 0 123456 1000 200"
	want := Process{
		PID:      7,
		Name:     "a",
		State:    "S",
		Parent:   10,
		Group:    20,
		Terminal: Device(136, 1),
		Front:    40,
		Start:    "123456",
		Flags:    0x400000,
	}
	brackets := want
	brackets.Name = "a) R 1 (b c"
	elsewhere := want
	elsewhere.Terminal = Device(136, 300)
	for _, c := range []struct {
		name, stat string
		want       Process
		fails      bool
	}{
		{"plain", "7 (a)" + rest + "\n", want, false},
		{"a name with brackets and blanks", "7 (a) R 1 (b c)" + rest, brackets, false},
		{"terminal 300", "7 (a)" + strings.Replace(rest, "34817", "1083436", 1), elsewhere, false},
		{"cut", "7 (a) S 10 20", Process{
			PID:    7,
			Name:   "a",
			State:  "S",
			Parent: 10,
			Group:  20,
		}, false},
		{"nothing", "", Process{}, true},
	} {
		got, err := parse(7, []byte(c.stat))
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%s: parse = %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
}

func TestEndingProcess(t *testing.T) {
	const rest = " S 10 20 30 34817 40 %FLAGS 1 2 3 4 5 6 7 8 20 0 1 0 123456 1000 200 18446744073709551615 1 1 0 0 0 %SIGNAL 0 4096 0"
	for _, c := range []struct {
		flags, signal string
		want          bool
	}{
		{"4194304", "0", false},
		{"4194308", "0", true},    // PF_EXITING
		{"4194304", "256", true},  // SIGKILL
		{"4194304", "512", false}, // SIGUSR1
	} {
		p, err := parse(
			7,
			[]byte("7 (a)"+strings.NewReplacer(
				"%FLAGS",
				c.flags,
				"%SIGNAL",
				c.signal,
			).Replace(rest)),
		)
		if err != nil || p.Ending() != c.want {
			t.Errorf(
				"flags %s, signal %s: ending = %v, %v, want %v",
				c.flags,
				c.signal,
				p.Ending(),
				err,
				c.want,
			)
		}
	}
}

func TestCatches(t *testing.T) {
	t.Parallel()
	procDir := procWith(t, "status", map[int]string{
		1: "Name:\tx\nSigIgn:\t0000000000000200\nSigCgt:\t0000000000000200\n",
		2: "SigIgn:\t0000000000000200\nSigCgt:\t0000000000000100\n",
		3: "Name:\tx\nSigCgt:\tx\n",
	})
	for pid, want := range map[int]bool{1: true, 2: false, 3: false, 4: false} {
		if got := Catches(procDir, pid, syscall.SIGUSR1); got != want {
			t.Errorf("%d: %v", pid, got)
		}
	}
}
