package observer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	webpage "sm/dashboards/page"
)

// eventStream is the event stream of a page, without a browser.
type eventStream struct {
	r      *rig
	body   io.ReadCloser
	events chan event
}

type event struct{ name, data string }

// listen opens /events and reads it.
func (r *rig) listen(query string) *eventStream {
	r.t.Helper()
	ctx, end := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(
		ctx,
		http.MethodGet,
		"http://"+r.tcp().String()+"/events"+query,
		nil,
	)
	noErrors(r.t, err)
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	noErrors(r.t, err)
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 ||
		kind != "text/event-stream; charset=utf-8" {
		r.t.Fatalf("got %d %s", resp.StatusCode, kind)
	}
	l := &eventStream{
		r:      r,
		body:   resp.Body,
		events: make(chan event, 1000),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(l.events)
		l.read()
	}()
	r.t.Cleanup(func() {
		end()
		<-ended
		_ = resp.Body.Close()
	})
	return l
}

func (l *eventStream) read() {
	lines := bufio.NewReader(l.body)
	var e event
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			e.name = strings.TrimSuffix(name, "\n")
		} else if data, ok := strings.CutPrefix(line, "data: "); ok {
			e.data = strings.TrimSuffix(data, "\n")
		} else if line == "\n" {
			l.events <- e
			e = event{}
		}
	}
}

// next waits for an event of that name and drops others before it.
func (l *eventStream) next(name string) string {
	l.r.t.Helper()
	end := time.After(patience)
	for {
		select {
		case e, ok := <-l.events:
			if !ok {
				l.r.t.Fatalf("the stream ends before %s\n%s", name, l.r.log)
			}
			if e.name == name {
				return e.data
			}
		case <-end:
			l.r.t.Fatalf("no event %s\n%s", name, l.r.log)
		}
	}
}

// stateNews is the event state as the page's script reads it.
type stateNews struct {
	Page, Mark, Head string
	Rows             []struct {
		Data webpage.Data
		HTML string
	}
	Keys []string
}

func (l *eventStream) state() (s stateNews) {
	l.r.t.Helper()
	noErrors(l.r.t, json.Unmarshal([]byte(l.next("state")), &s))
	return s
}

// until waits until the row of an agent contains the text.
func (l *eventStream) until(agent, text string) stateNews {
	l.r.t.Helper()
	for {
		s := l.state()
		if strings.Contains(s.row(agent), text) {
			return s
		}
	}
}

// row returns the row of an agent, "" if it was not sent.
func (s *stateNews) row(agent string) string {
	for _, r := range s.Rows {
		if r.Data.Key == webpage.Key(agent) {
			return r.HTML
		}
	}
	return ""
}

// TestEvents tests that the first event has all rows, and later ones only the changed rows.
func TestEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 3 {
		r.write(uuid(i), reply(ago(time.Minute), fmt.Sprint("m", i), 40_000+i, 1))
	}
	r.start()
	l := r.listen("")
	first := l.state()
	if len(first.Rows) != 3 || len(first.Keys) != 3 ||
		!strings.Contains(first.Head, "<b>3</b> agents") ||
		first.Page == "" {
		t.Errorf("%d rows, keys %v, head %s", len(first.Rows), first.Keys, first.Head)
	}
	r.write(uuid(1), reply(ago(0), "n1", 120_000, 1))
	news := l.until(uuid(1), ">120k<")
	if len(news.Rows) != 1 ||
		!strings.Contains(news.Head, "<b>240k tokens") {
		t.Errorf("%d rows, head %s", len(news.Rows), news.Head)
	}
	// A page that reconnects gets only the rows that have changed.
	r.write(uuid(2), reply(ago(0), "n2", 81_000, 1))
	l.until(uuid(2), ">81k<")
	late := r.listen("?since=" + news.Mark)
	if s := late.state(); len(s.Rows) != 1 || s.row(uuid(2)) == "" || len(s.Keys) != 3 {
		t.Errorf("%d rows, keys %v", len(s.Rows), s.Keys)
	}
	for _, mark := range []string{"other.5", "x", ".", first.Mark + "9999", "%00"} {
		if s := r.listen("?since=" + mark).state(); len(s.Rows) != 3 {
			t.Errorf("a page with the mark %q got %d rows", mark, len(s.Rows))
		}
	}
	// Sessions appear and disappear.
	r.write(uuid(7), reply(ago(0), "n7", 1_000, 1))
	l.until(uuid(7), ">1k<")
	noErrors(t, os.Remove(r.transcript(uuid(7))))
	for {
		if s := l.state(); s.Keys != nil && !slices.Contains(s.Keys, webpage.Key(uuid(7))) {
			break
		}
	}
	r.stop()
	for e := range l.events { // it ends
		if e.name != "state" {
			t.Errorf("%s at the end", e.name)
		}
	}
}

// TestEventsOfOne tests that with a session the events have its detail.
func TestEventsOfOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(
		uuid(1),
		reply(ago(2*time.Minute), "m1", 40_000, 1),
		boundary(ago(90*time.Second), "b1", "auto", 41_000),
		reply(ago(time.Minute), "m2", 30_000, 1),
	)
	r.start()
	l := r.listen("?session=" + uuid(1)[:8])
	html := func() string {
		var d struct{ HTML string }
		noErrors(t, json.Unmarshal([]byte(l.next("detail")), &d))
		return d.HTML
	}
	if got := html(); !strings.Contains(got, "compacted (auto) at 41k") ||
		!strings.Contains(got, "30k of 200k") {
		t.Errorf("got %s", got)
	}
	r.write(uuid(1), reply(ago(0), "m3", 131_000, 1))
	for got := html(); !strings.Contains(got, "131k of 200k"); got = html() {
	}
	none := r.listen("?session=%3Cb%3E")
	if got := none.next("detail"); !strings.Contains(got, "No such agent") ||
		strings.Contains(got, "<b>") {
		t.Errorf("got %s", got)
	}
	if a := r.get("/?session=" + uuid(1)); !strings.Contains(
		a.Body,
		"compacted (auto) at 41k",
	) {
		t.Errorf("%d: without events: %s", a.Code, a.Body)
	}
}

// TestEventsSlow tests that a page that does not read delays no other one, and gets the
// newest state when it does.
func TestEventsSlow(t *testing.T) {
	t.Parallel()
	const sessions = 300
	r := newRig(t)
	r.pageWrite = time.Hour // a slow machine may take long until this page reads
	for i := range sessions {
		r.write(uuid(i), reply(ago(time.Minute), fmt.Sprint("m", i), 40_000, 1))
	}
	r.start()
	small := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(
				int(fd),
				syscall.SOL_SOCKET,
				syscall.SO_RCVBUF,
				4096,
			)
		})
	}}
	c, err := small.Dial("tcp", r.tcp().String())
	noErrors(t, err)
	defer c.Close()
	_, err = fmt.Fprintf(c, "GET /events HTTP/1.1\r\nHost: %s\r\n\r\n", r.tcp())
	noErrors(t, err)
	_, err = c.Read(make([]byte, 1)) // the stream has begun
	noErrors(t, err)
	quick := r.listen("")
	for n := range 5 {
		for i := range sessions {
			r.write(uuid(i), reply(ago(0), fmt.Sprint("n", n, "-", i), 50_000+1000*n, 1))
		}
		quick.until(uuid(sessions-1), fmt.Sprintf(">%dk<", 50+n))
	}
	lines := bufio.NewReaderSize(c, 4<<20)
	newest := make(chan error, 1)
	go func() {
		for {
			line, err := lines.ReadString('\n')
			if err != nil || strings.Contains(line, ">54k<") {
				newest <- err
				return
			}
		}
	}()
	select {
	case err := <-newest:
		noErrors(t, err)
	case <-time.After(patience):
		t.Fatal("the slow page did not get the newest state")
	}
	noErrors(t, c.Close())
}
