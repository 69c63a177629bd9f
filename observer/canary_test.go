package observer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
)

// canaryRecords returns records with secrets wherever a session may write text: in all but
// the last element of the working directory, and in everything else. Each %s is a secret.
func canaryRecords() []string {
	const head = `"timestamp":"AT","version":"2.1.44","cwd":"/home/%s/%s/web","gitBranch":"%s"`
	return []string{
		`{"type":"summary","summary":"%s","leafUuid":"%s"}`,
		`{"type":"custom-title","customTitle":"%s","sessionId":"ID"}`,
		`{"type":"ai-title","aiTitle":"%s","sessionId":"ID"}`,
		`{"type":"agent-name","agentName":"%s","slug":"%s","sessionId":"ID"}`,
		`{"type":"last-prompt","lastPrompt":"%s","sessionId":"ID"}`,
		`{"type":"queue-operation","operation":"enqueue","content":"%s","timestamp":"AT"}`,
		`{"type":"file-history-snapshot","messageId":"%s","snapshot":{"trackedFileBackups":{"/srv/%s/key.pem":{"backupFileName":"%s"}}}}`,
		`{"type":"user","uuid":"u1",` + head + `,"slug":"%s","message":{"role":"user","content":"%s"}}`,
		`{"type":"user","uuid":"u2",` + head + `,"isMeta":true,"message":{"role":"user","content":[{"type":"text","text":"%s"}]}}`,
		`{"type":"assistant","uuid":"u3",` + head + `,"requestId":"%s","message":{"id":"m1","model":"claude-haiku-4-5","content":[{"type":"thinking","thinking":"%s","signature":"%s"},` +
			`{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"%s","description":"%s"}},{"type":"tool_use","id":"t2","name":"Write","input":{"file_path":"/srv/%s/%s.txt","content":"%s"}}],` +
			`"usage":{"input_tokens":2,"cache_read_input_tokens":50121,"output_tokens":7,"service_tier":"%s"}}}`,
		`{"type":"user","uuid":"u4",` + head + `,"toolUseResult":{"stdout":"%s","stderr":"%s","filePath":"/srv/%s"},"message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"%s"}]}}`,
		`{"type":"assistant","uuid":"u5",` + head + `,"isApiErrorMessage":true,"error":"%s","message":{"id":"m2","model":"<synthetic>","content":[{"type":"text","text":"API Error: %s"}],"usage":{"input_tokens":0}}}`,
		`{"type":"system","subtype":"api_error","uuid":"u6",` + head + `,"level":"error","cause":{"message":"%s"},"content":"%s"}`,
		`{"type":"system","subtype":"compact_boundary","uuid":"u7",` + head + `,"content":"%s","compactMetadata":{"trigger":"%s","preTokens":50123,"userContext":"%s"}}`,
		`{"type":"user","uuid":"u8","parentUuid":"u7",` + head + `,"isCompactSummary":true,"message":{"content":"This session is being continued. %s"}}`,
		`{"type":"attachment","uuid":"u9",` + head + `,"attachment":{"type":"hook_additional_context","content":["%s"],"hookName":"%s"}}`,
		`{"type":"progress","uuid":"u10",` + head + `,"data":{"type":"bash_progress","output":"%s","error":"%s"}}`,
		`{"type":"%s","uuid":"u11",` + head + `}`,
		`%s is no JSON`,
		`{"type":"assistant","uuid":"u12",` + head + `,"message":{"id":"m3","model":"claude-haiku-4-5","usage":{"input_tokens":40000,"output_tokens":1}}}`,
	}
}

// plantCanaries writes transcripts and a registry entry full of secrets.
func plantCanaries(r *rig, n int) (secrets []string) {
	id := uuid(10 * n)
	plant := func(text string) string {
		for strings.Contains(text, "%s") {
			secrets = append(secrets, fmt.Sprintf("canary%dq%03d", n, len(secrets)))
			text = strings.Replace(text, "%s", secrets[len(secrets)-1], 1)
		}
		return strings.NewReplacer("AT", ago(time.Minute), "ID", id).Replace(text)
	}
	folder := filepath.Join(r.projects, plant("-home-%s-%s-web"))
	for _, record := range canaryRecords() {
		appendLines(r.t, filepath.Join(folder, id+".jsonl"), plant(record))
	}
	// Without a working directory the folder names the project.
	appendLines(
		r.t,
		filepath.Join(folder, uuid(10*n+1)+".jsonl"),
		`{"type":"assistant","message":{"model":"claude-haiku-4-5","usage":{"input_tokens":9}}}`,
	)
	// This is ignored, and logged.
	noErrors(r.t, os.Mkdir(filepath.Join(folder, uuid(10*n+2)+".jsonl"), 0o700))
	noErrors(r.t, syscall.Mkfifo(filepath.Join(folder, uuid(10*n+3)+".jsonl"), 0o600))
	r.client(
		4711+n,
		id,
		plant(`,"cwd":"/home/%s/web","name":"%s","status":"waiting","waitingFor":"%s","tmux":"%s:@0.%%0"`),
	)
	return secrets
}

// canaryRig returns an observer of one session full of secrets in history, and one that came
// later.
func canaryRig(t *testing.T) (r *rig, secrets []string) {
	r = newRig(t)
	r.o.MetricsListen = "127.0.0.1:0"
	secrets = plantCanaries(r, 1)
	r.start()
	secrets = append(secrets, plantCanaries(r, 2)...)
	if len(secrets) < 2*64 {
		t.Errorf("%d secrets, want 64 each", len(secrets))
	}
	r.until("all is read", func() bool {
		v := r.scrape()
		return v[`agent_session_context_tokens{session="`+uuid(20)[:8]+`"}`] == 40_000 &&
			len(having(v, "agent_session_info")) == 4
	})
	var own string
	r.until("clients are known", func() bool {
		all, err := api.NewClient([]string{r.o.Socket}).Sessions(t.Context())
		own = fmt.Sprint(all)
		return err == nil && strings.Count(own, "waiting") == 2
	})
	if !strings.Contains(own, "canary1q") || !strings.Contains(own, "canary2q") {
		t.Errorf("the observer's user gets no working directories: %s", own)
	}
	return r, secrets
}

// TestCanaries tests that other users get only figures, the model, the client's version and
// the last element of the working directory from transcripts, and that logs contain no more.
func TestCanaries(t *testing.T) {
	t.Parallel()
	r, secrets := canaryRig(t)
	refuse := func(where, text string) {
		t.Helper()
		for _, secret := range secrets {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf(
					"%s contains %s: …%s…",
					where,
					secret,
					text[max(0, i-80):min(len(text), i+40)],
				)
			}
		}
	}
	refuse("/metrics", r.get("/metrics").Body)
	refuse(
		"/metrics in OpenMetrics",
		r.get("/metrics", "Accept", "application/openmetrics-text;version=1.0.0").Body,
	)
	projects := map[string]string{}
	for id, info := range r.infos() {
		projects[id] = info["project"]
	}
	want := map[string]string{uuid(10): "web", uuid(11): "", uuid(20): "web", uuid(21): ""}
	if diff := cmp.Diff(want, projects); diff != "" {
		t.Errorf("projects (-want +got):\n%s", diff)
	}
	t.Run("as another user", func(t *testing.T) {
		var urls []string
		for _, path := range []string{
			"/metrics",
			"/-/healthy",
			"/-/ready",
			"/",
			"/sessions",
			"/sessions/" + uuid(10),
			"/sessions/" + uuid(10)[:8],
			"/none",
		} {
			urls = append(
				urls,
				"http://"+r.tcp().String()+path,
				"http://"+r.metricsAddr().String()+path,
			)
		}
		for i, a := range fetchAsStranger(t, urls...) {
			refuse(urls[i], fmt.Sprint(a))
		}
	})
	r.stop()
	refuse("the log", r.log.String())
	for _, id := range []string{uuid(12), uuid(13)} {
		if !strings.Contains(r.log.String(), id) {
			t.Errorf("the ignored file is not logged: %s", r.log)
		}
	}
}
