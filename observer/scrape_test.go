package observer

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scrape returns the content of /metrics over TCP: values by name and labels.
func (r *rig) scrape() map[string]float64 {
	r.t.Helper()
	a := r.get("/metrics")
	if a.Code != 200 {
		r.t.Fatalf("%d: %s", a.Code, a.Body)
	}
	values, err := valuesOf(a.Body)
	noErrors(r.t, err)
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

// having returns the series whose names have a prefix.
func having(values map[string]float64, prefix string) map[string]float64 {
	values = maps.Clone(values)
	maps.DeleteFunc(
		values,
		func(name string, _ float64) bool { return !strings.HasPrefix(name, prefix) },
	)
	return values
}

// parse reads the text format as a server does.
func parse(exposition string) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return parser.TextToMetricFamilies(strings.NewReader(exposition))
}

// ours reports whether a family is the observer's and not that of a library.
func ours(name string) bool {
	return strings.HasPrefix(name, "agent_") || strings.HasPrefix(name, "sm_")
}
