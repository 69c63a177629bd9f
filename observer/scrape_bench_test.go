package observer

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"sm/observer/respond"
)

// idleWriter is a peer that takes everything at once.
type idleWriter struct {
	header http.Header
	code   int
	bytes  int64
}

func (w *idleWriter) Header() http.Header  { return w.header }
func (w *idleWriter) WriteHeader(code int) { w.code = code }
func (w *idleWriter) Write(b []byte) (int, error) {
	w.bytes += int64(len(b))
	return len(b), nil
}

// fullHouse is an observer of so many active sessions, and others long gone.
func fullHouse(b *testing.B, active, gone int) *rig {
	r := newRig(b)
	for i := range active + gone {
		at := time.Duration(i%500) * time.Second
		if i >= active {
			at += 48 * time.Hour
		}
		r.write(uuid(i+1), prompt(ago(at+time.Second), fmt.Sprintf("p%d", i), "go on"), reply(ago(at), fmt.Sprintf("m%d", i), 50_000+i, 300))
		r.age(uuid(i+1), at)
	}
	return r.start()
}

// benchmarkAnswers asks a handler over and over.
func benchmarkAnswers(b *testing.B, h http.Handler, path string, headers ...string) {
	req, err := http.NewRequest(http.MethodGet, path, nil)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	b.ReportAllocs()
	var size int64
	before := processorTime(b)
	for b.Loop() {
		w := &idleWriter{header: http.Header{}, code: http.StatusOK}
		h.ServeHTTP(w, req)
		if size = w.bytes; w.code != http.StatusOK {
			b.Fatal(w.code)
		}
	}
	b.ReportMetric(float64(size)/1e3, "kB")
	b.ReportMetric((processorTime(b)-before).Seconds()*1e3/float64(b.N), "cpu-ms/op")
	b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/op")
}

// processorTime is what this process has had: where others are at work, the clock
// tells about them.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkScrape is one scrape of 500 sessions; gone ones are known besides, and
// have no series.
func BenchmarkScrape(b *testing.B) {
	formats := map[string]string{"text": "text/plain;version=0.0.4", "openmetrics": "application/openmetrics-text;version=1.0.0"}
	for _, gone := range []int{0, 5000} {
		r := fullHouse(b, 500, gone)
		for _, format := range []string{"text", "openmetrics"} {
			for _, encoding := range []string{"identity", "gzip"} {
				b.Run(fmt.Sprintf("gone=%d/%s/%s", gone, format, encoding), func(b *testing.B) {
					benchmarkAnswers(b, respond.Handler((&server{r.app}).getMetrics), "/metrics", "Accept", formats[format], "Accept-Encoding", encoding)
				})
			}
		}
		r.stop()
	}
}

// BenchmarkSessions is GET /sessions with 500 of them.
func BenchmarkSessions(b *testing.B) {
	r := fullHouse(b, 500, 0)
	benchmarkAnswers(b, respond.Handler((&server{r.app}).getSessions), "/sessions")
}
