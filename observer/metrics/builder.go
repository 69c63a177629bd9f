package metrics

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"

	"sm/observer/tally"
)

// builder has metric families, by name. A family without series is not
// exported.
type builder map[string]*dto.MetricFamily

func newBuilder() builder {
	b := builder{}
	for entry := range strings.SplitSeq(help, "\n\n") {
		name, text, _ := strings.Cut(entry, "\n")
		b[name] = &dto.MetricFamily{
			Name: &name,
			Help: new(strings.Join(strings.Fields(text), " ")),
		}
	}
	return b
}

// number is a value of a snapshot.
type number interface{ int | int64 | uint64 | float64 }

// add adds a series to a family. Labels are names and values in turn, in the
// order of their names.
func add[T number](b builder, name string, figure T, labels ...string) {
	value := float64(figure)
	kind := dto.MetricType_GAUGE
	series := &dto.Metric{Gauge: &dto.Gauge{Value: &value}}
	if strings.HasSuffix(name, "_total") {
		kind = dto.MetricType_COUNTER
		series = &dto.Metric{Counter: &dto.Counter{Value: &value}}
	}
	b.append(name, kind, series, labels)
}

// addHistogram adds a histogram. It has one count for each upper bound, and one
// for larger values.
func (b builder) addHistogram(
	name string,
	bounds []float64,
	h *tally.Histogram,
	labels ...string,
) {
	series := &dto.Histogram{SampleSum: &h.Sum}
	var total uint64
	for i, n := range h.Counts {
		total += n
		if i < len(bounds) {
			series.Bucket = append(series.Bucket, &dto.Bucket{
				UpperBound:      &bounds[i],
				CumulativeCount: new(total),
			})
		}
	}
	series.SampleCount = &total // the encoder writes the last bucket
	b.append(name, dto.MetricType_HISTOGRAM, &dto.Metric{Histogram: series}, labels)
}

func (b builder) append(name string, kind dto.MetricType, m *dto.Metric, labels []string) {
	for pair := range slices.Chunk(labels, 2) {
		m.Label = append(m.Label, &dto.LabelPair{Name: &pair[0], Value: &pair[1]})
	}
	b[name].Type = &kind
	b[name].Metric = append(b[name].Metric, m)
}

// truth returns 1 for true and 0 for false.
func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// longestValue limits a label's value that comes from a transcript, in bytes;
// real values have about 30.
const longestValue = 128

// tame turns text of a transcript into a label's value: a server drops a whole
// scrape for one byte that is not UTF-8, and a terminal interprets control
// characters.
func tame(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, s[:min(len(s), 2*longestValue)])
	if len(s) <= longestValue {
		return s
	}
	const more = "…"
	return strings.ToValidUTF8(s[:longestValue-len(more)], "") + more
}
