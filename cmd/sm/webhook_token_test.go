package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sm/deploy/doctor"
)

// TestWebhookToken tests that alerts are accepted with a token in a private file, and that
// all readers of the file agree.
func TestWebhookToken(t *testing.T) {
	t.Parallel()
	const token = "correct-horse-battery"
	for _, tt := range []struct {
		name   string
		script string
		off    string // the warning if the observer runs without the route
		fail   string // the error if it does not run
	}{
		{"private", "umask 077; echo " + token + " >token", "", ""},
		{
			"for all to read",
			"umask 022; echo " + token + " >token",
			"FILE has mode 0644, others may know it; run chmod 600 FILE and put a new token there",
			"",
		},
		{
			"another user's",
			"umask 077; echo " + token + " >token; chown 65534 token",
			"FILE belongs to another user than uid 0, others may know it; run chown 0 FILE and put a new token there",
			"",
		},
		{
			"a pipe",
			"mkfifo -m 600 token",
			"FILE is not a regular file, others may know it; put the token into one of mode 0600",
			"",
		},
		{
			"not there",
			"",
			"",
			"FILE: no such file or directory; give the name of an existing file",
		},
		{
			"no token",
			"umask 077; echo short >token",
			"",
			"FILE holds no token; put one line of 16 to 4096 printable ASCII characters there",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := privateTemp(t)
			path := filepath.Join(home, "token")
			shellIn(t, home, tt.script)
			want := ""
			if text := tt.off + tt.fail; text != "" {
				want = "http.webhook_token_file: " + strings.ReplaceAll(text, "FILE", path)
			}
			vars := map[string]string{"HOME": home, "SM_HTTP_WEBHOOK_TOKEN_FILE": path}

			checked := execute(t, vars, "check-config")
			if want == "" && checked.Code != exitDone ||
				want != "" &&
					(checked.Code != exitFailed || checked.ErrOut != "sm: "+want+"\n") {
				t.Errorf("check-config: got %+v; want %q", checked, want)
			}

			cfg := mustLoad(t, "", vars)
			env := testEnv(vars)
			env.Executable = os.Executable
			options, err := doctorOptions(cfg, env)
			noErrors(t, err)
			found := slices.DeleteFunc(
				doctor.Examine(t.Context(), options),
				func(f doctor.Finding) bool { return f.Check != "webhook" },
			)
			if len(found) != 1 || (found[0].Status == healthy) != (want == "") ||
				!strings.Contains(found[0].Text, want) {
				t.Errorf("doctor: got %+v; want %q", found, want)
			}

			o, err := env.observerOptions(cfg, false)
			log := env.Stderr.(*bytes.Buffer).String()
			switch {
			case tt.fail != "":
				if err == nil || err.Error() != want {
					t.Errorf("the observer starts: got %v; want %q", err, want)
				}
			case err != nil:
				t.Error(err)
			case tt.off != "":
				if o.WebhookToken != "" ||
					!strings.Contains(
						log,
						`level=ERROR msg="POST /alerts/webhook is not served" err="`+want+`"`,
					) {
					t.Errorf("token %q, log %q; want %q", o.WebhookToken, log, want)
				}
			default:
				if o.WebhookToken != token || log != "" {
					t.Errorf("token %q, log %q", o.WebhookToken, log)
				}
			}
		})
	}
}
