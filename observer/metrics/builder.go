package metrics

import (
	dto "github.com/prometheus/client_model/go"
)

// builder makes metric families. Labels are given in the order of their names. It is used again for the next scrape, with
// the room for all series of the last one: a scrape of thousands of sessions would else be mostly work for the collector.
type builder struct {
	families []*dto.MetricFamily
	current  *dto.MetricFamily // the family that has begun; it is in families from its first series on
	all      store[dto.MetricFamily]
	gauges   store[gauge]
	counters store[counter]
	labels   store[labelPair]
	pairs    store[[atOnce]*dto.LabelPair]
	spare    []*dto.LabelPair // what is left of the newest of pairs
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

type labelPair struct {
	pair        dto.LabelPair
	name, value string
}

// store gives out values of a type that stay where they are, and all of them again after reset.
type store[T any] struct {
	chunks [][]T
	taken  int
}

func (s *store[T]) next() *T {
	i := s.taken
	s.taken++
	if i/atOnce == len(s.chunks) {
		s.chunks = append(s.chunks, make([]T, atOnce))
	}
	return &s.chunks[i/atOnce][i%atOnce]
}

// reset forgets what was built. Nothing that was handed out may be in use any more.
func (b *builder) reset() {
	clear(b.families)
	b.families = b.families[:0]
	b.current = nil
	b.spare = nil
	b.all.taken = 0
	b.gauges.taken = 0
	b.counters.taken = 0
	b.labels.taken = 0
	b.pairs.taken = 0
}

func (b *builder) label(name, value string) *dto.LabelPair {
	l := b.labels.next()
	l.name = name
	l.value = value
	l.pair.Name, l.pair.Value = &l.name, &l.value
	return &l.pair
}

// labelsOf are pairs of one name.
func (b *builder) labelsOf(name string, values ...string) []*dto.LabelPair {
	pairs := make([]*dto.LabelPair, len(values))
	for i, value := range values {
		pairs[i] = b.label(name, value)
	}
	return pairs
}

func (b *builder) gauge(name, help string) { b.family(name, help, dto.MetricType_GAUGE) }

func (b *builder) counter(name, help string) { b.family(name, help, dto.MetricType_COUNTER) }

// family begins a family. One that gets no series is not exported.
func (b *builder) family(name, help string, kind dto.MetricType) {
	b.current = b.all.next()
	b.current.Name, b.current.Help, b.current.Type, b.current.Metric = &name, &help, &kind, b.current.Metric[:0]
}

// add gives the family that has begun one more series. Labels can be shared between series.
func (b *builder) add(value float64, labels ...*dto.LabelPair) {
	if len(b.spare) < len(labels) {
		b.spare = b.pairs.next()[:]
	}
	n := copy(b.spare, labels)
	own := b.spare[:n:n] // so that labels itself is not on the heap
	b.spare = b.spare[n:]
	if b.current.GetType() == dto.MetricType_COUNTER {
		c := b.counters.next()
		c.value, c.counter.Value, c.metric.Counter, c.metric.Label = value, &c.value, &c.counter, own
		b.append(&c.metric)
		return
	}
	g := b.gauges.next()
	g.value, g.gauge.Value, g.metric.Gauge, g.metric.Label = value, &g.value, &g.gauge, own
	b.append(&g.metric)
}

func (b *builder) append(m *dto.Metric) {
	if len(b.current.Metric) == 0 {
		b.families = append(b.families, b.current)
	}
	b.current.Metric = append(b.current.Metric, m)
}

func (b *builder) histogram(name, help string) { b.family(name, help, dto.MetricType_HISTOGRAM) }

// addHistogram gives the family that has begun one more series. Counts has an element for each upper bound, and one for
// all beyond them.
func (b *builder) addHistogram(bounds []float64, counts []uint64, sum float64, labels ...*dto.LabelPair) {
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
