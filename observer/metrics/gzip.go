package metrics

import (
	"bufio"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
)

// zipper is an answer that is compressed on its way, as fast as that goes: between neighbours the network is not what is
// slow.
type zipper struct {
	http.ResponseWriter
	*bufio.Writer // to gzip; what encodes writes a few bytes at a time
	gzip          *gzip.Writer
	plain         bool
}

// WriteHeader begins the answer. That of an error is not compressed.
func (z *zipper) WriteHeader(code int) {
	if z.plain = code != http.StatusOK; z.plain {
		z.Header().Del("Content-Encoding")
	}
	z.ResponseWriter.WriteHeader(code)
}

// Write compresses.
func (z *zipper) Write(b []byte) (int, error) {
	if z.plain {
		return z.ResponseWriter.Write(b)
	}
	return z.Writer.Write(b)
}

// compressed is where the answer goes, and what ends it.
func (e *Exporter) compressed(w http.ResponseWriter, r *http.Request) (to http.ResponseWriter, end func()) {
	if !takesGzip(r.Header.Values("Accept-Encoding")) {
		return w, func() {}
	}
	z, _ := e.zippers.Get().(*zipper)
	if z == nil {
		g, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is one that there is
		z = &zipper{Writer: bufio.NewWriterSize(g, 32<<10), gzip: g}
	}
	z.ResponseWriter = w
	z.plain = false
	z.gzip.Reset(w)
	z.Writer.Reset(z.gzip)
	w.Header().Set("Content-Encoding", "gzip")
	return z, func() {
		if !z.plain {
			_ = z.Writer.Flush() // a peer that has gone gets nothing more, and that is all there is to do
			_ = z.gzip.Close()
		}
		z.ResponseWriter = nil
		e.zippers.Put(z)
	}
}

// takesGzip reports whether one of the values of Accept-Encoding accepts gzip.
func takesGzip(accepted []string) bool {
	takes := false
	named := false
	for _, value := range accepted {
		for one := range strings.SplitSeq(value, ",") {
			coding, parameters, _ := strings.Cut(one, ";")
			q := 1.0
			if weight, ok := strings.CutPrefix(strings.TrimSpace(strings.ToLower(parameters)), "q="); ok {
				q, _ = strconv.ParseFloat(weight, 64) // one that is no number refuses
			}
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip":
				takes = q > 0
				named = true
			case "*":
				if !named {
					takes = q > 0
				}
			}
		}
	}
	return takes
}
