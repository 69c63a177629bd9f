package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript/transcripttest"
)

// growth lets transcripts of both clients grow: generated ones of Claude Code and recorded
// ones of Codex, with other ids and times in each round.
type growth struct {
	d      *daemon
	rand   *rand.Rand
	rounds int
	lines  int
	open   []*growing
}

// growing is a transcript, and the text still to be written.
type growing struct {
	path string
	text []byte
}

var (
	recordTime = regexp.MustCompile(`(?m)^\{"timestamp":"([^"]+)"`)
	recordID   = regexp.MustCompile(`(01a2[0-9a-f]{4}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-)[0-9a-f]{4}`)
)

// add starts the transcripts of another round, whose records are of a time from then on.
func (g *growth) add(from time.Time) {
	t := g.d.t
	t.Helper()
	g.rounds++
	dir := t.TempDir()
	o := transcripttest.Options{
		Seed:      g.rand.Uint64(),
		Start:     from,
		Copies:    true,
		Subagents: true,
	}
	if _, err := transcripttest.Generate(dir, o); err != nil {
		t.Fatal(err)
	}
	g.files(dir, func(rel string, text []byte) {
		// A session without times counts as history if a kill interrupts the first reading.
		if bytes.Contains(text, []byte(`"timestamp":`)) {
			g.open = append(g.open, &growing{filepath.Join(g.d.projects, rel), text})
		}
	})

	recorded := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	id := fmt.Appendf(nil, "${1}%04x", g.rounds)
	g.files(codexScenarios, func(rel string, text []byte) {
		_, day, threads := strings.Cut(rel, "/sessions/")
		if !threads ||
			strings.Contains(rel, "rollback-fork") { // its copies count in another thread
			return
		}
		text = recordTime.ReplaceAllFunc(text, func(found []byte) []byte {
			at, err := time.Parse(time.RFC3339Nano, string(recordTime.FindSubmatch(found)[1]))
			noErrors(t, err)
			at = from.Add(at.Sub(recorded)).UTC()
			return fmt.Appendf(nil, `{"timestamp":%q`, at.Format("2006-01-02T15:04:05.000Z"))
		})
		path := filepath.Join(
			g.d.dir,
			".codex",
			"sessions",
			string(recordID.ReplaceAll([]byte(day), id)),
		)
		g.open = append(g.open, &growing{path, recordID.ReplaceAll(text, id)})
	})
}

func (g *growth) files(root string, add func(rel string, text []byte)) {
	g.d.t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(rel string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(rel) != ".jsonl" {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, rel))
		add(rel, text)
		return err
	})
	noErrors(g.d.t, err)
}

// write appends to a transcript, possibly within a line.
func (g *growth) write(f *growing, n int) {
	err := os.MkdirAll(filepath.Dir(f.path), 0o700)
	if err == nil {
		var file *os.File
		if file, err = os.OpenFile(
			f.path,
			os.O_WRONLY|os.O_CREATE|os.O_APPEND,
			0o600,
		); err == nil {
			_, err = file.Write(f.text[:n])
			file.Close()
		}
	}
	if err != nil {
		g.d.t.Error(err)
	}
	g.lines += bytes.Count(f.text[:n], []byte("\n"))
	f.text = f.text[n:]
}

// run writes rate lines a second for a time or until it is stopped, and then the rest of each
// transcript.
func (g *growth) run(stop <-chan struct{}, rate int, length time.Duration) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); ; {
		select {
		case <-stop:
			g.finish()
			return
		case <-tick.C:
		}
		for float64(g.lines) < min(time.Since(begun), length).Seconds()*float64(rate) {
			if len(g.open) == 0 {
				g.add(time.Now().Add(time.Second))
			}
			i := g.rand.IntN(min(len(g.open), 60))
			f := g.open[i]
			g.write(f, min(len(f.text), 1+g.rand.IntN(8000)))
			if len(f.text) == 0 {
				g.open = append(g.open[:i], g.open[i+1:]...)
			}
		}
	}
}

func (g *growth) finish() {
	for _, f := range g.open {
		g.write(f, len(f.text))
	}
	g.open = nil
}

// clientFigures are the expected figures of the transcripts of both clients.
type clientFigures struct {
	Counters map[string]float64  // by client and kind of token, or compactions of all triggers
	Sessions map[string][4]int64 // context, peak, turns, and compactions with inherited ones
}

// read scans all transcripts in a separate process.
func (g *growth) read() (all clientFigures) {
	g.d.t.Helper()
	all = clientFigures{Counters: map[string]float64{}, Sessions: map[string][4]int64{}}
	out, err := g.d.command(
		"scan",
		"--json",
		g.d.projects,
		filepath.Join(g.d.dir, ".codex"),
	).Output()
	noErrors(g.d.t, err)
	for j := json.NewDecoder(bytes.NewReader(out)); j.More(); {
		var s scanned
		noErrors(g.d.t, j.Decode(&s))
		side := s.Subagents.Tokens
		all.Counters[s.Client+" input"] += float64(s.Tokens.Input + side.Input)
		all.Counters[s.Client+" output"] += float64(s.Tokens.Output + side.Output)
		all.Counters[s.Client+" cache_read"] += float64(s.Tokens.CacheRead + side.CacheRead)
		all.Counters[s.Client+" cache_creation"] += float64(s.Tokens.CacheCreation + side.CacheCreation)
		all.Counters[s.Client+" compactions"] += float64(s.Compactions.Total())
		all.Sessions[s.SessionID] = figuresOfSession(
			s.Context,
			s.Peak,
			s.Turns,
			s.Compactions.Total()+s.Inherited,
		)
	}
	return all
}

func figuresOfSession(context *int64, peak int64, turns, compactions int) [4]int64 {
	if context == nil {
		context = new(int64)
	}
	return [4]int64{*context, peak, int64(turns), int64(compactions)}
}

var clientSeries = regexp.MustCompile(`^agent_(tokens|compactions)_total\{client="(\w+)",\w+="(\w+)"\}$`)

// shown returns the observer's figures.
func (g *growth) shown() (all clientFigures, err error) {
	all = clientFigures{Counters: map[string]float64{}, Sessions: map[string][4]int64{}}
	metrics, err := g.d.scrape()
	if err != nil {
		return all, err
	}
	for series, v := range metrics {
		m := clientSeries.FindStringSubmatch(series)
		switch {
		case m == nil:
		case m[1] == "tokens":
			all.Counters[m[2]+" "+m[3]] = v
		default: // a trigger that is recorded after its compaction counts as unknown
			all.Counters[m[2]+" compactions"] += v
		}
	}
	answer, err := g.d.api.Sessions(g.d.t.Context())
	for _, s := range answer.Sessions {
		n := s.Compactions.Total() + s.Inherited
		all.Sessions[s.SessionID] = figuresOfSession(s.TokensUsed, s.PeakTokens, s.Turns, n)
	}
	return all, err
}

// TestSoakClients tests that all records of both clients count once although the observer
// ends again and again while it reads history and while they grow: by kills within
// transactions or at any moment, and regularly, with exit code 0. SM_KILLS is the number of
// ends, SM_SOAK the duration, and SM_SOAK_RATE the number of lines written in a second.
func TestSoakClients(t *testing.T) {
	t.Parallel()
	ends := killsOf(t, "SM_KILLS", 40)
	length := time.Duration(ends) * 200 * time.Millisecond
	rate := 2000
	if d, err := time.ParseDuration(os.Getenv("SM_SOAK")); err == nil {
		length = d
		rate = 200
	}
	if n, err := strconv.Atoi(os.Getenv("SM_SOAK_RATE")); err == nil {
		rate = n
	}
	d := newDaemon(t)
	d.vars = []string{"SM_METRICS_MAX_SESSIONS=100000", "SM_METRICS_SESSION_TTL=1000h"}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := &growth{d: d, rand: rand.New(rand.NewPCG(seed, 2))}
	g.add(time.Now().Add(-1000 * time.Hour))
	g.finish()
	history := g.read()
	d.launch()
	d.eventually("the state exists", func() string {
		_, err := d.get("/-/healthy")
		return message(err)
	})

	stop := make(chan struct{})
	written := make(chan struct{})
	go func() {
		defer close(written)
		g.run(stop, rate, 2*length)
	}()
	cpu := time.Duration(0)
	peak := 0
	for i := range ends {
		<-time.After(rand.N(2 * length / time.Duration(ends)))
		now, memory := d.used()
		cpu += now
		peak = max(peak, memory)
		switch i % 4 {
		case 0:
			d.stored(time.After(time.Second))
			<-time.After(rand.N(4 * time.Millisecond))
			fallthrough
		case 1, 2:
			if !d.kill() {
				t.Fatalf("end %d: the observer had already ended", i)
			}
		default:
			signal := []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[i/4%2]
			if code := d.end(signal); code > 0 { // below 0: it did not handle signals yet
				t.Fatalf("end %d: exit code %d after %v", i, code, signal)
			}
		}
		d.launch()
	}
	close(stop)
	<-written

	want := g.read()
	for series, v := range history.Counters {
		want.Counters[series] -= v // not counted
	}
	for _, when := range []string{"at the end", "after an orderly restart"} {
		d.within(5*time.Minute, when, func() string {
			if _, err := d.get("/-/ready"); err != nil {
				return err.Error()
			}
			got, err := g.shown()
			return message(err) + cmp.Diff(want, got)
		})
		if code := d.end(syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if _, err := os.Lstat(d.socket()); err == nil {
			t.Error("the socket is left behind")
		}
		d.start()
	}
	log := d.log(1 << 22)
	if _, last, _ := strings.Cut(
		log[strings.LastIndex(log, `msg="caught up"`):],
		"up\" ",
	); !strings.HasPrefix(
		last,
		"files=0 bytes=0",
	) {
		t.Errorf("a restart reads the files again: %s", last)
	}
	if strings.Contains(log, "level=ERROR") || strings.Contains(log, "panic") {
		t.Errorf("its log:\n%s", log)
	}
	t.Logf("FIGURES: %d ends in %v, %d lines, %d sessions, %v; CPU %v, at most %.1f MB of memory",
		ends, length, g.lines, len(want.Sessions), want.Counters, cpu, float64(peak)/1024)
}

// stored waits until the state file is written, or for the timeout.
func (d *daemon) stored(timeout <-chan time.Time) {
	path := filepath.Join(d.state(), "state.db")
	before, err := os.Stat(path)
	noErrors(d.t, err)
	comes(500*time.Microsecond, timeout, func() bool {
		now, err := os.Stat(path)
		return err == nil && now.ModTime() != before.ModTime()
	})
}

// used returns the CPU time of the process and its peak memory in KB, or 0 if the system does
// not report them.
func (d *daemon) used() (cpu time.Duration, peak int) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	if _, rest, ok := strings.Cut(string(stat), ") "); ok {
		for _, field := range strings.Fields(rest)[11:13] { // user and system time
			ticks, _ := strconv.Atoi(field)
			cpu += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
		_, _ = fmt.Sscan(rest, &peak)
	}
	return cpu, peak
}
