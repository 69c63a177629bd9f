package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sm/deploy/doctor"
)

// TestWebhookToken: alerts are accepted with a token in a private file, and all readers of the file agree.
func TestWebhookToken(t *testing.T) {
	t.Parallel()
	const token = "correct-horse-battery"
	file := func(mode os.FileMode) func(*testing.T, string) error {
		return func(_ *testing.T, path string) error {
			return errors.Join(os.WriteFile(path, []byte(token+"\n"), 0o600), os.Chmod(path, mode))
		}
	}
	mends := "; run chmod 600 FILE and put a new token there"
	for _, tt := range []struct {
		name string
		make func(t *testing.T, path string) error
		off  string // what is said when the observer runs without the route
		fail string // what is said when it does not run
		root bool
	}{
		{name: "private", make: file(0o600)},
		{name: "for all to read", make: file(0o644), off: "FILE has mode 0644, others may know it" + mends},
		{
			name: "a stranger's",
			root: true,
			off:  "FILE belongs to another user than uid 0, others may know it; run chown 0 FILE and put a new token there",
			make: func(t *testing.T, path string) error {
				return errors.Join(file(0o600)(t, path), os.Chown(path, 65534, 65534))
			},
		},
		{name: "a pipe", off: "FILE is not a regular file, others may know it; put the token into one of mode 0600",
			make: func(_ *testing.T, path string) error { return syscall.Mkfifo(path, 0o600) }},
		{name: "not there", fail: "FILE: no such file or directory; give the name of an existing file",
			make: func(*testing.T, string) error { return nil }},
		{name: "no token", fail: "FILE holds no token; put one line of 16 to 4096 printable ASCII characters there",
			make: func(_ *testing.T, path string) error { return os.WriteFile(path, []byte("short"), 0o600) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root && os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			home := privateTemp(t)
			path := filepath.Join(home, "token")
			if err := tt.make(t, path); err != nil {
				t.Fatal(err)
			}
			want := ""
			if text := tt.off + tt.fail; text != "" {
				want = "http.webhook_token_file: " + strings.ReplaceAll(text, "FILE", path)
			}
			vars := map[string]string{"HOME": home, "SM_HTTP_WEBHOOK_TOKEN_FILE": path}

			checked := execute(t, vars, "check-config")
			if want == "" && checked.Code != exitDone ||
				want != "" && (checked.Code != exitFailed || checked.ErrOut != "sm: "+want+"\n") {
				t.Errorf("check-config: %+v; want %q", checked, want)
			}

			cfg := mustLoad(t, "", vars)
			env := testEnv(vars)
			env.Executable = os.Executable
			options, err := doctorOptions(cfg, env)
			if err != nil {
				t.Fatal(err)
			}
			found := slices.DeleteFunc(
				doctor.Examine(t.Context(), options),
				func(f doctor.Finding) bool { return f.Check != "webhook" },
			)
			if len(found) != 1 || (found[0].Status == healthy) != (want == "") ||
				!strings.Contains(found[0].Text, want) {
				t.Errorf("doctor: %+v; want %q", found, want)
			}

			o, err := (wiring{env}).observerOptions(cfg)
			log := env.Stderr.(*bytes.Buffer).String()
			switch {
			case tt.fail != "":
				if err == nil || err.Error() != want {
					t.Errorf("the observer starts: %v; want %q", err, want)
				}
			case err != nil:
				t.Error(err)
			case tt.off != "":
				if o.WebhookToken != "" ||
					!strings.Contains(log, `level=ERROR msg="POST /alerts/webhook is not served" err="`+want+`"`) {
					t.Errorf("takes %q, says %q; want %q", o.WebhookToken, log, want)
				}
			default:
				if o.WebhookToken != token || log != "" {
					t.Errorf("takes %q, says %q", o.WebhookToken, log)
				}
			}
		})
	}
}
