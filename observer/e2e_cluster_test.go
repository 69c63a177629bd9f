package observer

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sm/observer/alertmanager"
)

// startCluster runs two Alertmanagers that share silences. A critical alert inhibits those of other names on its host.
func startCluster(t *testing.T, r *rig) (cluster [2]*tool) {
	t.Helper()
	config := "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n" +
		"inhibit_rules: [{source_matchers: ['alertname = Loud'], target_matchers: ['alertname = Inhibited'], equal: [host]}]\n"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noErrors(t, err, l.Close())
	for i, address := range [2]string{l.Addr().String(), "127.0.0.1:0"} {
		dir := toolDir(t)
		noErrors(t, os.WriteFile(filepath.Join(dir, "alertmanager.yml"), []byte(config), 0o644))
		argv := []string{
			"prometheus-alertmanager", "--config.file=alertmanager.yml", "--storage.path=data", "--web.listen-address=127.0.0.1:0",
			"--cluster.listen-address=" + address, "--cluster.gossip-interval=50ms",
		}
		if i > 0 {
			argv = append(argv, "--cluster.peer="+l.Addr().String())
		}
		cluster[i] = startTool(t, dir, "prometheus-alertmanager", argv)
	}
	for _, x := range cluster {
		r.look(looks, "the two know each other", func() bool {
			var status struct{ Cluster struct{ Peers []any } }
			a, err := fetch(t.Context(), x.base+"/api/v2/status")
			return err == nil && json.Unmarshal([]byte(a.Body), &status) == nil && len(status.Cluster.Peers) == 2
		})
	}
	return cluster
}

// send posts to Alertmanager, as Prometheus and amtool do.
func (s *tool) send(method, path, body string) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.base+"/api/v2"+path, strings.NewReader(body))
	noErrors(s.t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}).Do(req)
	noErrors(s.t, err)
	text, err := io.ReadAll(resp.Body)
	noErrors(s.t, err, resp.Body.Close())
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: %s %s", method, path, resp.Status, text)
	}
	return string(text)
}

// TestE2ECluster: an observer asks two real Alertmanagers, and one of them is killed. An alert of its host is said once,
// also when the webhook brings it, too; one that is silenced is not said before the silence ends, and one that is inhibited
// or of another host not at all.
func TestE2ECluster(t *testing.T) {
	r := newWatched(t)
	r.o.Alerts.Thresholds.WarningPercentage = 99
	r.o.Alerts.Thresholds.CriticalPercentage = 100 // the observer finds nothing by itself
	r.o.Alerts.Thresholds.WarningOfThreshold = 0
	r.o.Alerts.Thresholds.CriticalOfThreshold = 0
	cluster := startCluster(t, r)
	r.o.Settings.Alertmanager = alertmanager.Options{
		URLs:     []string{cluster[0].base, cluster[1].base},
		Host:     "one",
		Interval: 20 * time.Millisecond,
	}
	r.start()
	agents := []string{"loud", "silenced", "inhibited", "elsewhere"}
	for i, agent := range agents {
		r.fire(agent, uuid(i+1), "UserPromptSubmit", "")
		r.write(
			uuid(i+1),
			prompt(ago(time.Second), "p", "Go."),
			reply(ago(time.Second), fmt.Sprint("m", i), 110_000, 10),
		)
		r.until("its context is known", func() bool { return r.session(agent).TokensUsed != nil })
	}
	now := time.Now().UTC()
	silence := cluster[0].send(http.MethodPost, "/silences", fmt.Sprintf(`{"matchers":[{"name":"alertname","value":"Silenced","isRegex":false,"isEqual":true}],`+
		`"startsAt":%q,"endsAt":%q,"createdBy":"a test","comment":"maintenance"}`, now.Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339)))
	r.look(looks, "both know the silence", func() bool {
		a, err := fetch(t.Context(), cluster[1].base+"/api/v2/silences")
		return err == nil && strings.Contains(a.Body, "maintenance")
	})
	var list []string
	for i, agent := range agents {
		host := map[bool]string{true: "two", false: "one"}[agent == "elsewhere"]
		list = append(list, fmt.Sprintf(`{"labels":{"alertname":%q,"host":%q,"session":%q,"kind":"critical"},"startsAt":%q}`,
			strings.ToUpper(agent[:1])+agent[1:], host, r.session(agent).Label, now.Add(time.Duration(i)*time.Millisecond).Format(time.RFC3339Nano)))
	}
	post := func(to *tool) { to.send(http.MethodPost, "/alerts", "["+strings.Join(list, ",")+"]") }
	polls := func(outcome string) float64 {
		return r.scrape()[fmt.Sprintf("sm_alertmanager_polls_total{outcome=%q}", outcome)]
	}
	more := func(outcome string) {
		t.Helper()
		enough := polls(outcome) + 20
		r.until("more rounds", func() bool { return polls(outcome) >= enough })
	}
	post(cluster[0])
	post(cluster[1])
	r.until("it is said", func() bool { return len(r.mail()) > 0 })
	more("answered")
	wantMail(r, "loud/1/critical waiting")

	noErrors(t, cluster[0].cmd.Process.Kill())
	more("failed")
	post(cluster[1]) // as Prometheus goes on to
	more("answered")
	wantMail(r, "loud/1/critical waiting")
	if a := r.ask(
		http.MethodPost,
		"/alerts/webhook",
		notification("firing", now, r.session("loud").Label, "critical"),
	); !strings.Contains(
		a.Body,
		`"told":0`,
	) {
		t.Errorf("the webhook's is said again: %s", a.Body)
	}

	var id struct{ SilenceID string }
	noErrors(t, json.Unmarshal([]byte(silence), &id))
	cluster[1].send(http.MethodDelete, "/silence/"+id.SilenceID, "")
	r.until("it is said once nobody silences it", func() bool { return len(r.mail()) > 1 })
	wantMail(r, "loud/1/critical waiting", "silenced/1/critical waiting")
	r.stop()
}
