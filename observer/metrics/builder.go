package metrics

import (
	dto "github.com/prometheus/client_model/go"
)

// builder makes metric families. Labels are given in the order of their names. What a series consists of is made for many
// at once, so that thousands of series are not thousands of small allocations.
type builder struct {
	families []*dto.MetricFamily
	current  *dto.MetricFamily // the family that has begun; it is in families from its first series on
	gauges   []gauge
	counters []counter
	pairs    []*dto.LabelPair
}

const atOnce = 256

type gauge struct {
	metric dto.Metric
	gauge  dto.Gauge
	value  float64
}

type counter struct {
	metric  dto.Metric
	counter dto.Counter
	value   float64
}

func label(name, value string) *dto.LabelPair {
	l := &struct {
		pair        dto.LabelPair
		name, value string
	}{name: name, value: value}
	l.pair.Name, l.pair.Value = &l.name, &l.value
	return &l.pair
}

// labels are pairs of one name.
func labels(name string, values ...string) []*dto.LabelPair {
	pairs := make([]*dto.LabelPair, len(values))
	for i, value := range values {
		pairs[i] = label(name, value)
	}
	return pairs
}

func (b *builder) gauge(name, help string) { b.family(name, help, dto.MetricType_GAUGE) }

func (b *builder) counter(name, help string) { b.family(name, help, dto.MetricType_COUNTER) }

// family begins a family. One that gets no series is not exported.
func (b *builder) family(name, help string, kind dto.MetricType) {
	b.current = &dto.MetricFamily{Name: &name, Help: &help, Type: &kind}
}

// add gives the family that has begun one more series. Labels can be shared between series.
func (b *builder) add(value float64, labels ...*dto.LabelPair) {
	if len(b.pairs) < len(labels) {
		b.pairs = make([]*dto.LabelPair, atOnce)
	}
	n := copy(b.pairs, labels)
	own := b.pairs[:n:n] // so that labels itself is not on the heap
	b.pairs = b.pairs[n:]
	if b.current.GetType() == dto.MetricType_COUNTER {
		c := next(&b.counters)
		c.value, c.counter.Value, c.metric.Counter, c.metric.Label = value, &c.value, &c.counter, own
		b.append(&c.metric)
		return
	}
	g := next(&b.gauges)
	g.value, g.gauge.Value, g.metric.Gauge, g.metric.Label = value, &g.value, &g.gauge, own
	b.append(&g.metric)
}

// next takes one of what was made at once.
func next[T any](spare *[]T) *T {
	if len(*spare) == 0 {
		*spare = make([]T, atOnce)
	}
	one := &(*spare)[0]
	*spare = (*spare)[1:]
	return one
}

func (b *builder) append(m *dto.Metric) {
	if len(b.current.Metric) == 0 {
		b.families = append(b.families, b.current)
	}
	b.current.Metric = append(b.current.Metric, m)
}

// histogram is a whole family with one series. Counts has an element for each upper bound, and one for all beyond them.
func (b *builder) histogram(name, help string, bounds []float64, counts []uint64, sum float64, labels ...*dto.LabelPair) {
	b.family(name, help, dto.MetricType_HISTOGRAM)
	h := &dto.Histogram{SampleSum: &sum}
	var total uint64
	for i, n := range counts {
		total += n
		if i < len(bounds) {
			h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &bounds[i], CumulativeCount: new(total)})
		}
	}
	h.SampleCount = &total // the bucket of all that there are is the encoder's
	b.append(&dto.Metric{Label: labels, Histogram: h})
}

// truth is how a gauge says yes and no.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
