package observer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scrape is what /metrics says over TCP: values by name and labels.
func (r *rig) scrape() map[string]float64 {
	r.t.Helper()
	a := r.get("/metrics")
	if a.Code != 200 {
		r.t.Fatalf("%d: %s", a.Code, a.Body)
	}
	values, err := valuesOf(a.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return values
}

func valuesOf(exposition string) (map[string]float64, error) {
	values := map[string]float64{}
	for line := range strings.Lines(exposition) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		space := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			return nil, err
		}
		if _, twice := values[line[:space]]; twice {
			return nil, fmt.Errorf("twice: %s", line)
		}
		values[line[:space]] = value
	}
	return values, nil
}

// having keeps the series whose name begins so.
func having(values map[string]float64, prefix string) map[string]float64 {
	values = maps.Clone(values)
	maps.DeleteFunc(values, func(name string, _ float64) bool { return !strings.HasPrefix(name, prefix) })
	return values
}

// parse reads the text format as a server does.
func parse(exposition string) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return parser.TextToMetricFamilies(strings.NewReader(exposition))
}

// ours tells our families from those of the libraries.
func ours(name string) bool {
	return strings.HasPrefix(name, "agent_") || strings.HasPrefix(name, "sm_")
}

// parsed is a collector of what has been parsed, for a registry to check.
type parsed map[string]*dto.MetricFamily

func (p parsed) Describe(out chan<- *prometheus.Desc) {
	for _, f := range p {
		out <- describe(f, f.Metric[0])
	}
}

func describe(f *dto.MetricFamily, m *dto.Metric) *prometheus.Desc {
	var names []string
	for _, l := range m.Label {
		names = append(names, l.GetName())
	}
	return prometheus.NewDesc(f.GetName(), f.GetHelp(), names, nil)
}

func (p parsed) Collect(out chan<- prometheus.Metric) {
	for _, f := range p {
		for _, m := range f.Metric {
			var values []string
			for _, l := range m.Label {
				values = append(values, l.GetValue())
			}
			desc := describe(f, m)
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, m.Counter.GetValue(), values...)
			case dto.MetricType_GAUGE:
				out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, m.Gauge.GetValue(), values...)
			case dto.MetricType_HISTOGRAM:
				buckets := map[float64]uint64{}
				for _, b := range m.Histogram.Bucket {
					buckets[b.GetUpperBound()] = b.GetCumulativeCount()
				}
				out <- prometheus.MustNewConstHistogram(desc, m.Histogram.GetSampleCount(), m.Histogram.GetSampleSum(), buckets, values...)
			default:
				out <- prometheus.NewInvalidMetric(desc, fmt.Errorf("%s has no type", f.GetName()))
			}
		}
	}
}

// recheck lets the checking registry of the library gather our part of an
// exposition, and returns what the library's encoder makes of that.
func recheck(exposition string, format expfmt.Format) (string, error) {
	families, err := parse(exposition)
	if err != nil {
		return "", err
	}
	maps.DeleteFunc(families, func(name string, _ *dto.MetricFamily) bool { return !ours(name) })
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(parsed(families)); err != nil {
		return "", err
	}
	checked, err := prometheus.Gatherers{registry}.Gather()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	encoder := expfmt.NewEncoder(&out, format)
	for _, f := range checked {
		if err := encoder.Encode(f); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

// blocks are the families of an exposition that are ours: comments first, then the
// series, sorted. A family that comes twice is an error.
func blocks(exposition string) (map[string][]string, error) {
	all, block := map[string][]string{}, ""
	for line := range strings.Lines(exposition) {
		if name, help := strings.CutPrefix(line, "# HELP "); help {
			block, _, _ = strings.Cut(name, " ")
			if all[block] != nil {
				return nil, fmt.Errorf("%s comes twice", block)
			}
		}
		all[block] = append(all[block], line)
	}
	maps.DeleteFunc(all, func(name string, _ []string) bool { return !ours(name) })
	for _, lines := range all {
		if len(lines) < 3 {
			return nil, fmt.Errorf("a family without a series: %q", lines)
		}
		if !strings.HasPrefix(lines[1], "# TYPE ") {
			return nil, fmt.Errorf("%q does not say its type", lines[0])
		}
		if !strings.Contains(lines[1], " histogram\n") {
			slices.Sort(lines[2:])
		}
	}
	return all, nil
}
