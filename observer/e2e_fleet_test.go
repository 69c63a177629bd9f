package observer

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
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

func newMachine(t *testing.T, host, write string) *machine {
	t.Helper()
	return newWatched(t).machine(host, write)
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

// scrapes is how often the agent has scraped, at least.
func (m *machine) scrapes() int {
	m.t.Helper()
	const name = `prometheus_target_interval_length_seconds_count`
	a, err := fetch(m.t.Context(), m.agent.base+"/metrics")
	noErrors(m.t, err)
	for line := range strings.Lines(a.Body) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			_, value, _ := strings.Cut(strings.TrimSpace(rest), " ")
			n, err := strconv.Atoi(value)
			noErrors(m.t, err)
			return n + 1 // it counts what lies between two
		}
	}
	return 0
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

// outage is how many scrapes of each machine the central server misses: 20 seconds of them.
const outage = 40

// TestE2EFleet: two machines write to one server, which then has the figures of both,
// also of the time in which it was down.
func TestE2EFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	c := startCentral(t)
	hosts := []*machine{newMachine(t, "one", c.base+"/api/v1/write"), newMachine(t, "two", c.base+"/api/v1/write")}
	for i, m := range hosts {
		id := uuid(i + 1)
		m.write(id, prompt(ago(0), "p1", "Go."), reply(ago(0), "m1", 50_000+i, 100))
	}
	c.agrees(hosts...)

	// Ended in good order, as what it has taken may be in memory only.
	c.stop()
	before := make([]int, len(hosts))
	for i, m := range hosts {
		before[i] = m.scrapes()
	}
	for step := range 3 {
		for i, m := range hosts {
			m.write(
				uuid(i+1),
				boundary(ago(0), fmt.Sprint("b", step), "auto", 150_000+step),
				reply(ago(0), fmt.Sprint("n", step), 40_000+step, 10),
			)
			enough := max(
				before[i]+(step+1)*outage/3,
				m.scrapes()+3,
			) // one may be under way, and the reading after that
			m.look(looks, "scrapes of it", func() bool { return m.scrapes() >= enough })
		}
	}
	made := make([]int, len(hosts))
	for i, m := range hosts {
		made[i] = m.scrapes()
	}
	back := time.Now()
	c.start()
	c.agrees(hosts...)
	for i, m := range hosts {
		m.look(looks, fmt.Sprintf("all %d scrapes of %s until then have arrived", made[i], m.host), func() bool {
			return len(c.series(m.host, "up", "", back)) >= made[i]
		})
		// A value for each step, and not only the last one.
		compactions := slices.Compact(c.series(m.host, "agent_compactions_total", `, trigger="auto"`, back))
		if diff := cmp.Diff([]float64{0, 1, 2, 3}, compactions); diff != "" {
			t.Errorf("compactions of %s (-want +got):\n%s", m.host, diff)
		}
	}
	for _, m := range hosts {
		m.stop()
	}
}
