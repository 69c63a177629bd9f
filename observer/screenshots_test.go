package observer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/transcripttest"
)

// crew is an agent of the fleet that the pictures show: its context grows to each of
// peaks in turn and is compacted there, but for the last; at the end of that it does what
// state says.
type crew struct {
	name, project, model string
	peaks                []int64
	every                time.Duration // from one reply to the next
	quiet                time.Duration // since the last one
	state                string        // fields of the client's registry
}

func crews() []crew {
	small, large := "claude-sonnet-4-5", "claude-opus-4-8"
	busy, idle := `,"status":"busy"`, `,"status":"idle"`
	return []crew{
		{"checkout-flow", "shop", small, []int64{167_400, 168_100, 151_000}, 40 * time.Second, 4 * time.Second, busy},
		{"search-index", "shop", small, []int64{166_900, 134_500}, 50 * time.Second, 9 * time.Second, busy},
		{"billing-migration", "ledger", small, []int64{167_800, 118_300}, 45 * time.Second, 25 * time.Second, `,"status":"waiting","waitingFor":"permission prompt"`},
		{"api-docs", "handbook", small, []int64{101_900}, 70 * time.Second, 2 * time.Second, busy},
		{"flaky-tests", "ledger", small, []int64{167_100, 92_600}, 35 * time.Second, 3 * time.Minute, idle},
		{"design-tokens", "web", small, []int64{81_700}, 80 * time.Second, 12 * time.Second, busy},
		{"release-notes", "handbook", small, []int64{58_200}, 60 * time.Second, 7 * time.Minute, idle},
		{"load-test", "infra", large, []int64{412_000}, 30 * time.Second, 5 * time.Second, busy},
		{"terraform", "infra", large, []int64{203_000}, 40 * time.Second, 50 * time.Second, busy},
		{"onboarding", "web", small, []int64{33_100}, 90 * time.Second, 14 * time.Minute, ""},
		{"dependency-bumps", "infra", small, []int64{167_500, 0}, 40 * time.Second, 6 * time.Second, busy},
	}
}

// fleetAtWork is an observer of the crews, who have names and status lines. The end of
// each transcript is written while it looks, so there are notices and forecasts too.
func fleetAtWork(t testing.TB) *rig {
	r := newRig(t)
	r.o.CodexDirs = []string{filepath.Join(r.dir, "codex", "sessions")}
	r.thread()
	var ends []func()
	for i, c := range crews() {
		ends = append(ends, r.crew(i, c))
	}
	r.start()
	for i, c := range crews() {
		id := uuid(100 + i)
		r.joins(id, fmt.Sprintf(`,"name":%q`, c.name))
		if c.state != "" {
			r.client(5000+i, id, c.state)
		}
		ends[i]()
	}
	for i, c := range crews() {
		id := uuid(100 + i)
		last := c.peaks[len(c.peaks)-1]
		r.until(c.name+" is known", func() bool {
			s := r.session(id)
			return (s.TokensUsed == nil || *s.TokensUsed == last) && (s.TokensUsed == nil) == (last == 0) && (c.state == "" && s.State == "quiet" || strings.Contains(c.state, `"`+s.State+`"`))
		})
	}
	asks := time.Now().Add(-20 * time.Second).Format(time.RFC3339Nano)
	r.ask("POST", "/hooks/claude", fmt.Sprintf(`{"hook_event_name":"Notification","notification_type":"permission_prompt","message":"Claude needs your permission to use Bash",`+
		`"session_id":%q,"sm":{"agent":%[1]q,"at":%q}}`, uuid(102), asks))
	r.until("the dialog is known", func() bool { return r.session(uuid(102)).WaitingFor == "permission: Bash" })
	return r
}

// thread writes a thread of Codex, which is at work.
func (r *rig) thread() {
	now := time.Now().UTC()
	path := filepath.Join(r.o.CodexDirs[0], now.Format("2006/01/02"), "rollout-"+now.Format("2006-01-02T15-04-05")+"-"+codexThread+".jsonl")
	record := func(ago time.Duration, kind, payload string) string {
		return fmt.Sprintf(`{"timestamp":%q,"type":%q,"payload":%s}`, now.Add(-ago).Format(time.RFC3339Nano), kind, payload)
	}
	lines := []string{record(30*time.Minute, "session_meta", `{"id":"`+codexThread+`","cwd":"/home/dev/mobile","cli_version":"0.169.0"}`),
		record(30*time.Minute, "turn_context", `{"model":"gpt-6-sol"}`), record(30*time.Minute, "event_msg", `{"type":"task_started","turn_id":"t","turn_attribution":{}}`)}
	for i := range 24 {
		n := 20_000 + 5_600*i
		lines = append(lines, record(time.Duration(24-i)*70*time.Second, "event_msg", fmt.Sprintf(`{"type":"token_count","info":{"last_token_usage":{"input_tokens":%d,"output_tokens":40,"total_tokens":%d},`+
			`"total_token_usage":{"total_tokens":%d},"model_context_window":258400},"rate_limits":{"primary":{"used_percent":17,"window_minutes":300,"resets_at":%d},"secondary":{"used_percent":29,"window_minutes":10080,"resets_at":%d}}}`,
			n, n+40, (n+40)*(i+1), now.Add(3*time.Hour).Unix(), now.Add(90*time.Hour).Unix())))
	}
	appendLines(r.t, path, lines...)
}

// crew writes most of the transcript of one; end writes the rest.
func (r *rig) crew(i int, c crew) (end func()) {
	r.t.Helper()
	var text strings.Builder
	id := uuid(100 + i)
	plan := c.plan(i)
	now := time.Now()
	s := transcripttest.NewSession(&text, uint64(i), transcripttest.SessionOptions{
		ID: id, Cwd: "/home/dev/" + c.project, Model: c.model, Version: "2.1.197", Start: now.Add(-c.quiet - time.Duration(len(plan)+1)*c.every),
	})
	path := filepath.Join(r.projects, filepath.FromSlash(s.Path()))
	var last transcript.Entry // the newest reading
	put := func() {
		lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
		for i := range lines {
			var e transcript.Entry
			if claude.Scan([]byte(lines[i]), &e) == nil && e.Kind == transcript.KindReading {
				last = e
			}
		}
		appendLines(r.t, path, lines...)
		text.Reset()
		at := now.Add(-c.quiet)
		noErrors(r.t, s.Err(), os.Chtimes(path, at, at))
	}
	step := func(n int) {
		at := now.Add(-c.quiet - time.Duration(len(plan)-1-n)*c.every)
		s.Pass(at.Sub(s.Now()) - 3*time.Second)
		if plan[n] == 0 {
			s.Compact(transcripttest.Compaction{Trigger: transcripttest.Auto})
			return
		}
		if n%5 == 0 {
			s.Prompt("go on")
			s.Pass(at.Sub(s.Now()))
		}
		s.Reply(transcripttest.Reply{Context: plan[n], Tools: 1})
		s.ToolResult(transcripttest.Result{Size: 120})
		if n%5 == 4 || n == len(plan)-1 && c.state != `,"status":"busy"` {
			s.TurnDuration()
		}
	}
	if i == 0 {
		r.subagents(path, now)
	}
	before := len(plan) * 3 / 5
	for n := range before {
		step(n)
	}
	put()
	return func() {
		for n := before; n < len(plan); n++ {
			step(n)
		}
		put()
		if c.state == "" {
			return
		}
		drift := int64(0)
		if c.name == "terraform" {
			drift = 2_150
		}
		window := int64(200_000)
		if last.Context > window || strings.Contains(c.model, "opus") {
			window = 1_000_000
		}
		r.until("the end is read", func() bool { return r.session(id).ReadingAt != nil && r.session(id).ReadingAt.Equal(last.At.Time()) })
		r.ask("POST", "/hooks/claude", fmt.Sprintf(`{"hook_event_name":"StatusLine","session_id":%q,"sm":{"agent":%q,"at":%q},"context_window":{"context_window_size":%d,`+
			`"used_percentage":%d,"current_usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d}},`+
			`"cost":{"total_cost_usd":%.2f},"rate_limits":{"five_hour":{"used_percentage":41.5,"resets_at":%d},"seven_day":{"used_percentage":63,"resets_at":%d}}}`,
			id, id, last.At.Time().Add(time.Second).Format(time.RFC3339Nano), window, transcript.Window{Tokens: window}.Percent(last.Context+drift),
			last.Usage.Input, last.Usage.CacheCreation, last.Usage.CacheRead+drift,
			1.37+float64(i)*0.83, now.Add(2*time.Hour).Unix(), now.Add(80*time.Hour).Unix()))
	}
}

// subagents writes those of one session: one is at work, one has compacted.
func (r *rig) subagents(path string, now time.Time) {
	side := func(at time.Time, msg string, tokens int) string {
		return strings.Replace(reply(at.UTC().Format(time.RFC3339Nano), msg, tokens, 60), "{", `{"isSidechain":true,`, 1)
	}
	dir := filepath.Join(strings.TrimSuffix(path, ".jsonl"), "subagents")
	subagent := func(id, kind string, lines ...string) {
		name := filepath.Join(dir, "agent-"+id)
		appendLines(r.t, name+".jsonl", lines...)
		noErrors(r.t, os.WriteFile(name+".meta.json", fmt.Appendf(nil, `{"agentType":%q}`, kind), 0o600))
	}
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	subagent("a81f4c02d9be73516", "Explore", side(ago(4*time.Minute), "e1", 31_000), side(ago(2*time.Second), "e2", 84_200))
	subagent("ac09d7be215f3a84e", "general-purpose", side(ago(31*time.Minute), "g1", 161_300),
		boundary(ago(30*time.Minute).UTC().Format(time.RFC3339Nano), "bg", "auto", 166_900), side(ago(12*time.Minute), "g2", 58_700))
	subagent("a5e63b1f07c9d2248", "Explore", side(ago(47*time.Minute), "e3", 22_900))
}

// plan is the size of each reply, 0 for a compaction.
func (c crew) plan(seed int) (sizes []int64) {
	for n, peak := range c.peaks {
		from := int64(18_000 + 900*seed)
		if n > 0 {
			sizes, from = append(sizes, 0), int64(31_000+700*seed)
		}
		if peak == 0 {
			break
		}
		const steps = 46
		for i := range int64(steps) {
			// Growth is uneven: much is read at first, then there are tests and small edits.
			k := float64(i+1) / steps
			k += 0.05 * float64((i*int64(7+seed)+int64(seed)*3)%11-5) / 5 * (1 - k) * k * 4
			sizes = append(sizes, from+int64(k*float64(peak-from)))
		}
	}
	return sizes
}

// crowded is an observer of so many agents in a few projects, each at another place of its cycle.
func crowded(t testing.TB, agents int) *rig {
	r := newRig(t)
	tasks := [...]string{
		"Move the cart to the new API", "Find out why CI is slow", "Write the release notes", "Mend the flaky login test", "Rename accounts to customers",
		"Cache the search results", "Bring the docs up to date", "Split the billing job", "Review the payment form", "Load-test the gateway", "Drop the old importer",
	}
	for i := range agents {
		cwd := "/home/dev/" + [...]string{"shop", "ledger", "handbook", "web", "infra", "search", "mobile"}[i%7]
		lines := []string{prompt(ago(40*time.Minute), fmt.Sprint("p", i), tasks[i*5%len(tasks)])}
		for k := range 24 {
			at := ago(time.Duration(24-k)*90*time.Second + time.Duration(i%17)*time.Minute)
			lines = append(lines, replyOf("claude-sonnet-4-5", cwd, at, fmt.Sprint("m", i, "-", k), 18_000+(1_000+i*7919%5_000)*(k+1), 1))
		}
		if i%(agents/25) != 0 {
			lines = append(lines, fmt.Sprintf(`{"type":"system","subtype":"turn_duration","uuid":"t%d","timestamp":%q,"version":"2.1.197"}`, i, ago(time.Duration(i%17)*time.Minute)))
		}
		r.write(uuid(i), lines...)
	}
	r.start()
	for i := range 24 {
		r.client(6000+i, uuid(i*(agents/25)), `,"status":"`+[...]string{"busy", "busy", "idle"}[i%3]+`"`)
	}
	r.client(6100, uuid(7), `,"status":"waiting","waitingFor":"dialog open"`)
	r.until("the clients are known", func() bool {
		return r.session(uuid(7)).State == "waiting" && r.session(uuid(23*(agents/25))).State == "idle"
	})
	return r
}

// TestScreenshots writes the pictures of the README. It runs when told where to.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SM_SCREENSHOTS")
	if dir == "" {
		t.Skip("SM_SCREENSHOTS does not say where to; see make screenshots")
	}
	noErrors(t, os.MkdirAll(dir, 0o755))
	c := startChromium(t)
	fleet := fleetAtWork(t)
	b := fleet.picture(t, c, dir, "light", "/", "light", 1280, 800, "")
	fleet.picture(t, c, dir, "dark", "/", "dark", 1280, 800, "")
	fleet.picture(t, c, dir, "session", "/?session=checkout-flow", "light", 1280, 1100, `const box = document.querySelector('.reader').getBoundingClientRect();
		document.querySelector('.reader').dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: box.left + .88 * box.width}))`)
	fleet.picture(t, c, dir, "narrow", "/", "dark", 390, 844, "")
	crowd := crowded(t, 500)
	crowd.picture(t, c, dir, "crowd", "/?group=project", "light", 1280, 800, `document.querySelector('#dense').click()`)
	crowd.stop()
	empty := newRig(t)
	empty.o.CodexDirs = []string{filepath.Join(empty.dir, "codex", "sessions")}
	empty.start()
	empty.picture(t, c, dir, "empty", "/", "light", 1280, 600, "")
	empty.stop()
	fleet.stop()
	b.until("the observer is gone", `!document.querySelector('#gone').hidden`)
	b.keep(t, dir, "gone")
}

// picture opens the page, does what is to be seen, and keeps how it looks.
func (r *rig) picture(t *testing.T, c chromium, dir, name, path, theme string, width, height int64, do string) *browser {
	t.Helper()
	b := c.open(t, r, path, width, height)
	b.live()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{ document.documentElement.dataset.theme = %q; %s }`, theme, do)))
	b.quiet()
	b.keep(t, dir, name)
	return b
}

func (b *browser) keep(t *testing.T, dir, name string) {
	t.Helper()
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	noErrors(t, err)
	path := filepath.Join(dir, name+".png")
	noErrors(t, os.WriteFile(path, picture, 0o644))
	if t.Logf("%s: %d kB", path, len(picture)/1000); len(picture) > 250_000 {
		t.Errorf("%s is larger than 250 kB", path)
	}
}
