package observer

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// looks is the interval of requests to servers with other work to do.
const looks = 100 * time.Millisecond

// machine is one of many: an observer, and a Prometheus in agent mode with the shipped
// configuration.
type machine struct {
	*rig
	host  string
	agent *tool
}

// machine makes a machine of an observer, which it starts.
func (r *rig) machine(host, write string) *machine {
	t := r.t.(*testing.T)
	t.Helper()
	r.start()
	dir := toolDir(t)
	config := shipped(t, "../deploy/prometheus/agent.yml", map[string]string{"scrape_interval": "500ms"},
		"127.0.0.1:8420", r.tcp().String(), "https://metrics.example/api/v1/write", write)
	noErrors(t, os.WriteFile(filepath.Join(dir, "agent.yml"), config, 0o644),
		os.WriteFile(filepath.Join(dir, "remote-write.token"), []byte("token\n"), 0o644))
	m := &machine{rig: r, host: host}
	m.agent = startTool(t, dir, "prometheus", []string{
		"prometheus", "--enable-feature=agent,expand-external-labels", "--config.file=agent.yml",
		"--storage.agent.path=data", "--web.listen-address=127.0.0.1:0",
	}, "HOST="+host)
	return m
}

// central is a VictoriaMetrics that many machines write to.
type central struct{ *tool }

func startCentral(t *testing.T) *central {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that it keeps across a restart
	noErrors(t, err, l.Close())
	return &central{startTool(t, toolDir(t), "victoria-metrics", []string{
		"victoria-metrics", "-storageDataPath=data",
		"-httpListenAddr=" + l.Addr().String(), "-search.latencyOffset=0s", "-search.disableCache",
	})}
}
