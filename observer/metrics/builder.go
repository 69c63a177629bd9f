package metrics

import (
	"strings"
	"unicode"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
)

// builder makes metric families. A family that gets no series is not exported.
type builder struct {
	families []*dto.MetricFamily
	current  *dto.MetricFamily
}

func (b *builder) family(name, help string, kind dto.MetricType) {
	b.current = &dto.MetricFamily{Name: &name, Help: &help, Type: &kind}
}

func (b *builder) gauge(name, help string) { b.family(name, help, dto.MetricType_GAUGE) }
func (b *builder) counter(name, help string) {
	b.family(
		name,
		help,
		dto.MetricType_COUNTER,
	)
}
func (b *builder) histogram(name, help string) {
	b.family(
		name,
		help,
		dto.MetricType_HISTOGRAM,
	)
}

// add gives the family that has begun one more series. Labels are names and values
// in turn, in the order of their names.
func (b *builder) add(value float64, labels ...string) {
	if b.current.GetType() == dto.MetricType_COUNTER {
		b.append(&dto.Metric{Counter: &dto.Counter{Value: &value}}, labels)
		return
	}
	b.append(&dto.Metric{Gauge: &dto.Gauge{Value: &value}}, labels)
}

// addHistogram adds a series of counts, one for each upper bound, and one for all
// beyond them.
func (b *builder) addHistogram(
	bounds []float64,
	counts []uint64,
	sum float64,
	labels ...string,
) {
	h := &dto.Histogram{SampleSum: &sum}
	var total uint64
	for i, n := range counts {
		total += n
		if i < len(bounds) {
			h.Bucket = append(h.Bucket, &dto.Bucket{
				UpperBound:      &bounds[i],
				CumulativeCount: new(total),
			})
		}
	}
	h.SampleCount = &total // the encoder writes the last bucket
	b.append(&dto.Metric{Histogram: h}, labels)
}

func (b *builder) append(m *dto.Metric, labels []string) {
	pairs := make([]dto.LabelPair, len(labels)/2)
	for i := range pairs {
		pairs[i].Name = &labels[2*i]
		pairs[i].Value = &labels[2*i+1]
		m.Label = append(m.Label, &pairs[i])
	}
	if len(b.current.Metric) == 0 {
		b.families = append(b.families, b.current)
	}
	b.current.Metric = append(b.current.Metric, m)
}

// truth is the value of a gauge that is 1 or 0.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// longestValue bounds a label's value that comes from a transcript, in bytes; real values have about 30.
const longestValue = 128

// tame makes a label's value of a text from a transcript. It is untrusted: a server
// drops a whole scrape for one byte that is not UTF-8, and a terminal obeys control
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
