package observer

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// looks is how often servers are asked that have other work to do.
const looks = 100 * time.Millisecond

// machine is one of many: an observer, and a Prometheus in agent mode with the
// configuration that we ship.
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
	m.agent = startTool(t, dir, "prometheus", []string{"prometheus", "--enable-feature=agent,expand-external-labels", "--config.file=agent.yml",
		"--storage.agent.path=data", "--web.listen-address=127.0.0.1:0"}, "HOST="+host)
	return m
}

// totals adds up what these machines' observers expose: for each name the sum over all its
// series. What goes by the clock, or by the process, is left out.
func totals(t *testing.T, machines ...*machine) map[string]float64 {
	t.Helper()
	sums := map[string]float64{}
	for _, m := range machines {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(m.get("/metrics").Body))
		noErrors(t, err)
		for name, f := range families {
			if !strings.HasPrefix(name, "agent_") && !strings.HasPrefix(name, "sm_") ||
				strings.HasPrefix(name, "agent_session_forecast") {
				continue
			}
			for _, x := range f.Metric {
				if h := x.Histogram; h != nil {
					sums[name+"_count"] += float64(h.GetSampleCount())
					sums[name+"_sum"] += h.GetSampleSum()
					for _, b := range h.Bucket {
						sums[name+"_bucket"] += float64(b.GetCumulativeCount())
					}
					continue
				}
				sums[name] += x.GetCounter().GetValue() + x.GetGauge().GetValue() + x.GetUntyped().GetValue()
			}
		}
	}
	return sums
}

// central is a VictoriaMetrics that many machines write to.
type central struct{ *tool }

func startCentral(t *testing.T) *central {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // for a port that stays over its restart
	noErrors(t, err, l.Close())
	return &central{startTool(t, toolDir(t), "victoria-metrics", []string{"victoria-metrics", "-storageDataPath=data",
		"-httpListenAddr=" + l.Addr().String(), "-search.latencyOffset=0s", "-search.disableCache"})}
}

// totals are the same sums, of written samples. It is nil while the server does not answer.
func (c *central) totals() map[string]float64 {
	c.t.Helper()
	query := url.Values{"query": {`sum by (name) (label_replace({job="sm", __name__=~"(agent|sm)_.+", __name__!~"agent_session_forecast.+"}, "name", "$1", "__name__", "(.+)"))`}}
	a, err := fetch(c.t.Context(), c.base+"/api/v1/query?"+query.Encode())
	if err != nil || a.Code != 200 {
		return nil
	}
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	noErrors(c.t, json.Unmarshal([]byte(a.Body), &answer))
	sums := map[string]float64{}
	for _, r := range answer.Data.Result {
		v, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64)
		noErrors(c.t, err)
		sums[r.Metric["name"]] = v
	}
	return sums
}

// series are the samples of a machine's series until some time, in their order.
func (c *central) series(host, name, more string, until time.Time) (values []float64) {
	c.t.Helper()
	query := url.Values{
		"match[]": {fmt.Sprintf(`{__name__=%q, host=%q%s}`, name, host, more)},
		"end":     {fmt.Sprintf("%d.%03d", until.Unix(), until.Nanosecond()/1e6)},
	}
	a, err := fetch(c.t.Context(), c.base+"/api/v1/export?"+query.Encode())
	if err != nil || a.Code != 200 || a.Body == "" {
		return nil
	}
	var answer struct{ Values []float64 }
	noErrors(c.t, json.Unmarshal([]byte(a.Body), &answer)) // fails for more than one series
	return answer.Values
}

// agrees waits until the central server has what all observers expose.
func (c *central) agrees(machines ...*machine) {
	c.t.Helper()
	var want, got map[string]float64
	rounded := cmpopts.EquateApprox(1e-12, 0) // a sum depends on its order
	end := time.Now().Add(patience - time.Second)
	machines[0].look(looks, "the totals agree", func() bool {
		want, got = totals(c.t, machines...), c.totals()
		return cmp.Equal(want, got, rounded) || time.Now().After(end)
	})
	if diff := cmp.Diff(want, got, rounded); diff != "" {
		c.t.Fatalf("what the observers expose, and what has arrived (-want +got):\n%s", diff)
	}
}
