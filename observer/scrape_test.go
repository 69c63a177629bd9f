package observer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

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
