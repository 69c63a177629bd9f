package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

var (
	program = flag.String("sm", "", "the binary under test; without it nothing is measured")
	mb      = flag.Int64("mb", 1000, "size of a corpus in MB")
	files   = flag.Int("files", 10_000, "known transcripts")
	live    = flag.Int("live", 300, "live ones among them")
	runs    = flag.Int("runs", 5, "runs of each command")
	only    = flag.String("only", "", "parts to run, of live,read,restart,hook")
)

// BenchmarkFigures prints each figure beside its limit and fails for none. CPU is user plus
// system time. Commands of one comparison run in turn, several times, and the figure is the
// median: quote the ratios.
func BenchmarkFigures(b *testing.B) {
	if *program == "" {
		b.Skip("no -sm given; run make bench")
	}

	// Files are removed at the end only: after a removal, ext4 slows down the creation of
	// files nearby for minutes, which would distort a measurement. The part that is affected
	// most by earlier writes comes first.
	dir := b.TempDir()
	for _, part := range []struct {
		name    string
		measure func(b *testing.B, dir string)
	}{
		{"live", measureLive},
		{"read", measureReading},
		{"restart", measureRestart},
		{"hook", measureHook},
	} {
		if *only == "" || slices.Contains(strings.Split(*only, ","), part.name) {
			fmt.Printf("\n== %s\n", part.name)
			part.measure(b, filepath.Join(dir, part.name))
		}
	}
}

// figure prints a figure with its limit, "" for none.
func figure(name, value, limit string) {
	if limit != "" {
		limit = "  (at most " + limit + ")"
	}
	fmt.Printf("%-58s %s%s\n", name, value, limit)
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }

func ofCore(cpu float64, passed time.Duration) string {
	return fmt.Sprintf("%.2f %% of a core", 100*cpu/passed.Seconds())
}

// quantile returns a quantile of the list, which it sorts.
func quantile(list []time.Duration, q float64) time.Duration {
	slices.Sort(list)
	return list[min(len(list)-1, int(q*float64(len(list))))]
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// measureReading compares a scan with grep, and a report and a replay with a scan.
func measureReading(b *testing.B, dir string) {
	check(b, generate(dir, *mb))
	scan := []string{*program, "scan", "--json", dir}

	took := inTurn(b, scan, []string{"grep", "-rc", "--include=*.jsonl", `"usage"`, dir})
	figure("catch-up CPU, to grep -c", ratio(took[0], took[1]), "1.4")
	figure("catch-up CPU", fmt.Sprintf("%.2f s/GB", took[0].Seconds()/float64(*mb)*1000), "")

	took = inTurn(b, scan,
		[]string{*program, "report", "--json", dir},
		[]string{*program, "replay", "--grid", "--json", dir})
	figure("report CPU, to scan", ratio(took[1], took[0]), "2")
	figure("replay --grid CPU, to scan", ratio(took[2], took[0]), "2")
}

func ratio(a, b time.Duration) string { return fmt.Sprintf("%.2f", a.Seconds()/b.Seconds()) }

// inTurn runs commands in turn, several times, and returns the CPU time of each. The first
// round fills the page cache. Output goes to a file: GNU grep stops at the first match when
// it is /dev/null.
func inTurn(b *testing.B, commands ...[]string) (medians []time.Duration) {
	output, err := os.Create(filepath.Join(b.TempDir(), "output"))
	check(b, err)
	defer output.Close()

	took := make([][]time.Duration, len(commands))
	for round := range *runs + 1 {
		for i, argv := range commands {
			cmd := exec.CommandContext(b.Context(), argv[0], argv[1:]...)
			cmd.Stdout = output
			cmd.Stderr = os.Stderr
			check(b, cmd.Run())
			if round > 0 {
				state := cmd.ProcessState
				took[i] = append(took[i], state.UserTime()+state.SystemTime())
			}
		}
	}
	for _, list := range took {
		medians = append(medians, quantile(list, 0.5))
	}
	return medians
}

// measureRestart measures a start over many known transcripts, then memory and idle CPU with
// some of them live.
func measureRestart(b *testing.B, dir string) {
	paths := crowd(b, dir, *files, 0)
	observe(b, dir).stop(b)
	var took []time.Duration
	for range *runs {
		o := observe(b, dir)
		took = append(took, o.took)
		o.stop(b)
	}
	figure(fmt.Sprintf("restart, %d known transcripts", *files),
		milliseconds(quantile(took, 0.5)), "150 ms")

	o := observe(b, dir)
	for i, path := range paths[:*live] {
		appendTo(b, path, line(time.Now(), 1_000_000+i, 2000))
	}
	o.untilLive(b, *live)
	wait(b, 3*time.Second) // state is stored and garbage collected
	figure(fmt.Sprintf("RSS, %d known, %d live", *files, *live),
		fmt.Sprintf("%.1f MB", float64(o.stat(b).ResidentMemory())/1e6), "60 MB")

	const idle = 30 * time.Second
	before := o.stat(b).CPUTime()
	wait(b, idle)
	figure(fmt.Sprintf("idle CPU, %d live", *live),
		ofCore(o.stat(b).CPUTime()-before, idle), "0.4 %")
	o.stop(b)
}

// measureLive writes a thousand lines a second to 900 live files and measures how soon single
// lines in a hundred others are visible.
func measureLive(b *testing.B, dir string) {
	const all, probes, rate = 1000, 100, 1000
	paths := crowd(b, dir, all, all)
	o := observe(b, dir)
	o.untilLive(b, all)

	load, end := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		appendSteadily(load, b, paths[probes:], rate)
	}()
	wait(b, 3*time.Second) // each file has a line by then

	start := time.Now()
	before := o.stat(b).CPUTime()
	var took []time.Duration
	for i := range 400 {
		k := rand.IntN(probes)
		at := time.Now()
		appendTo(b, paths[k], line(at, 5_000_000+i, 10_000+i))
		o.until(b, "/sessions/"+sessionID(k), fmt.Sprintf(`"tokens_used":%d,`, 10_000+i))
		took = append(took, time.Since(at))
		wait(b, time.Duration(rand.IntN(10))*time.Millisecond)
	}
	cpu := o.stat(b).CPUTime() - before
	passed := time.Since(start)
	end()
	<-ended

	const visible = "append to visible at 1000 lines/s"
	figure(visible+", p50", milliseconds(quantile(took, 0.5)), "")
	figure(visible+", p99", milliseconds(quantile(took, 0.99)), "6 ms")
	figure("CPU at 1000 lines/s, probes included", ofCore(cpu, passed), "25 %")
	o.stop(b)
}

// appendSteadily appends lines to files in turn, rate a second, until ctx ends. Each line
// adds 40 tokens to its context, so that its forecast is computed again. A ticker drops late
// ticks, so lines are counted by the clock.
func appendSteadily(ctx context.Context, b *testing.B, paths []string, rate int) {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()

	start := time.Now()
	for n := 0; ctx.Err() == nil; <-tick.C {
		for ; n < int(time.Since(start).Seconds()*float64(rate)); n++ {
			tokens := 3000 + 40*(n/len(paths))
			appendTo(b, paths[n%len(paths)], line(time.Now(), 2_000_000+n, tokens))
		}
	}
}

// measureHook measures the time that a client waits at each tool call: for the hook and the
// status line.
func measureHook(b *testing.B, dir string) {
	crowd(b, dir, *live, *live)
	o := observe(b, dir)
	agent := fmt.Sprintf(
		`{"session_id":%q,"transcript_path":"/x.jsonl","cwd":"/home/dev/proj",`,
		sessionID(0),
	)
	calls := map[string]string{
		"hook": agent + `"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"go test ./..."},` +
			`"tool_response":{"stdout":"` + strings.Repeat(
			`ok example.com/x 0.1s\n`,
			100,
		) + `"},"tool_use_id":"toolu_1"}`,
		"statusline": agent + `"model":{"id":"claude-sonnet-4-5"},"version":"2.1.197","context_window":` +
			`{"total_input_tokens":33000,"total_output_tokens":12,"context_window_size":200000,"used_percentage":17}}`,
	}
	took := map[string][]time.Duration{}
	for range 500 {
		for name, stdin := range calls {
			cmd := exec.CommandContext(
				b.Context(),
				*program+"-hook",
				name,
				"--socket",
				o.socket,
			)
			cmd.Env = []string{
				"PATH=" + os.Getenv("PATH"),
				"HOME=/nonexistent",
				"CLAUDE_SESSION_MANAGER_ID=bench",
			}
			cmd.Stdin = strings.NewReader(stdin)
			start := time.Now()
			check(b, cmd.Run())
			took[name] = append(took[name], time.Since(start))
		}
	}
	for _, name := range []string{"hook", "statusline"} {
		figure("sm-hook "+name+", p50", milliseconds(quantile(took[name], 0.5)), "")
		figure("sm-hook "+name+", p99", milliseconds(quantile(took[name], 0.99)), "5 ms")
	}
	o.stop(b)
}

// line is a reply of about 2 KB, the size of a real one.
func line(at time.Time, n, tokens int) string {
	return fmt.Sprintf(`{"isSidechain":false,"message":{"model":"claude-sonnet-4-5","id":"msg_%d","role":"assistant",`+
		`"content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":8,"cache_creation_input_tokens":0,`+
		`"cache_read_input_tokens":%d,"output_tokens":12}},"type":"assistant","uuid":"%08d-0000-4000-8000-000000000000",`+
		`"timestamp":"%s","cwd":"/home/dev/proj","version":"2.1.197"}`+"\n",
		n, strings.Repeat(`words and more words\n`, 90), tokens-8, n,
		at.UTC().Format("2006-01-02T15:04:05.000Z"))
}

func sessionID(i int) string { return fmt.Sprintf("%08d-1111-4111-8111-111111111111", i) }

func appendTo(b *testing.B, path, text string) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = file.WriteString(text)
		_ = file.Close()
	}
	if err != nil {
		b.Error(err)
	}
}

// crowd writes transcripts of ten lines below dir/projects. All but the first live ones are a
// week old.
func crowd(b *testing.B, dir string, files, live int) (paths []string) {
	for i := range files {
		at := time.Now()
		if i >= live {
			at = at.Add(-7 * 24 * time.Hour)
		}
		var text strings.Builder
		for k := range 10 {
			text.WriteString(line(at, i*10+k, 1000+k))
		}

		folder := filepath.Join(dir, "projects", fmt.Sprintf("-home-dev-p%d", i%200))
		path := filepath.Join(folder, sessionID(i)+".jsonl")
		check(b, os.MkdirAll(folder, 0o700))
		appendTo(b, path, text.String())
		check(b, os.Chtimes(path, at, at))
		paths = append(paths, path)
	}
	return paths
}

// observer is a running `sm observe`.
type observer struct {
	cmd    *exec.Cmd
	client *http.Client
	socket string
	took   time.Duration // from start to ready
}

// observe starts an observer of dir/projects with its state in dir, and waits
// until it is ready.
func observe(b *testing.B, dir string) *observer {
	run, err := os.MkdirTemp("", "smb") // short: a socket's path is limited to about 100 bytes
	check(b, err)
	b.Cleanup(func() { _ = os.RemoveAll(run) })

	socket := filepath.Join(run, "s", "sm.sock")
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	o := &observer{
		socket: socket,
		client: &http.Client{
			Transport: &http.Transport{DisableCompression: true, DialContext: dial},
		},
		cmd: exec.CommandContext(b.Context(), *program, "observe",
			"--projects", filepath.Join(dir, "projects"),
			"--state", filepath.Join(dir, "state"), "--socket", socket),
	}
	o.cmd.Env = append(os.Environ(), "SM_LISTEN=[]")
	o.cmd.Stderr = new(bytes.Buffer)

	start := time.Now()
	check(b, o.cmd.Start())
	o.until(b, "/-/ready", "")
	o.took = time.Since(start)
	return o
}

// until requests a path until the answer contains a text.
func (o *observer) until(b *testing.B, path, want string) {
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
		if resp, err := o.client.Get("http://localhost" + path); err == nil {
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err == nil && resp.StatusCode == http.StatusOK &&
				strings.Contains(string(body), want) {
				return
			}
		}
		wait(b, 200*time.Microsecond)
	}
	b.Fatalf("%s: no %s after five minutes: %s", path, want, o.cmd.Stderr)
}

func (o *observer) untilLive(b *testing.B, files int) {
	o.until(b, "/metrics", fmt.Sprintf(`sm_transcripts{state="live"} %d`, files))
}

func (o *observer) stop(b *testing.B) {
	check(b, o.cmd.Process.Signal(syscall.SIGTERM))
	if err := o.cmd.Wait(); err != nil {
		b.Fatalf("%v: %s", err, o.cmd.Stderr)
	}
}

func (o *observer) stat(b *testing.B) procfs.ProcStat {
	p, err := procfs.NewProc(o.cmd.Process.Pid)
	check(b, err)
	stat, err := p.Stat()
	check(b, err)
	return stat
}

func wait(b *testing.B, d time.Duration) {
	select {
	case <-b.Context().Done():
		b.FailNow()
	case <-time.After(d):
	}
}
