package fleet

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/clients/clientstest"
)

// paid reports the total of a client of session n.
func paid(at float64, n int, usd float64, o hook.Origin) step {
	return func(s *scenario) {
		o.At = second(at)
		st := hook.Status{SessionID: uuid(n), SM: o}
		st.Cost.TotalUSD = hook.Figure[float64]{Value: usd, Known: true}
		s.f.Status(&st, max(s.f.newest, transcript.InstantOf(second(at))))
	}
}

// TestCostNeverTwice tests that the counter never falls and never counts more than was spent,
// whatever clients do and in whatever order their reports arrive.
func TestCostNeverTwice(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := newScenario(t)
		type client struct {
			o       hook.Origin
			session int
			total   float64
			late    step // one of its reports
		}
		spent := 0.0
		last := 0.0
		pid := 0
		at := 0.0
		sessions := 0
		saved := map[int]float64{} // the total of a session whose client has ended
		var clients []*client
		begin := func(session int, total float64, source string) {
			pid++
			c := &client{from("a"+strconv.Itoa(r.IntN(3)), pid), session, total, nil}
			clients = slices.DeleteFunc(clients, func(old *client) bool { // clients in the session or the pane have ended
				ended := old.session == session || old.o.Agent == c.o.Agent
				s.dead[old.o.PID] = s.dead[old.o.PID] || ended
				return ended
			})
			clients = append(clients, c)
			if r.IntN(3) > 0 || source == "resume" {
				s.play(starts(at, session, source, c.o))
			}
			if source == "resume" {
				at += 6 * r.Float64()
			}
		}
		for range 120 {
			at += r.Float64() * 20
			if len(clients) == 0 || r.IntN(15) == 0 {
				sessions++
				begin(sessions, 0, "startup")
			}
			c := clients[r.IntN(len(clients))]
			switch r.IntN(10) {
			case 0:
				restarts(s)
			case 1: // it ends, and the session is resumed: with its total, an old one, or 0
				if r.IntN(2) == 0 {
					saved[c.session] = c.total
				}
				begin(
					c.session,
					[...]float64{0, saved[c.session], c.total}[r.IntN(3)],
					"resume",
				)
			case 2: // it clears, and continues with its total or from 0
				sessions++
				if c.session = sessions; r.IntN(2) == 0 {
					c.total = 0
				}
				s.play(starts(at, c.session, "clear", c.o))
			case 3:
				if c.late != nil {
					s.play(c.late) // arrives late, or twice
				}
				continue
			default:
				usd := float64(r.IntN(100)) / 64
				c.total = c.total + usd
				spent = spent + usd
			}
			if !slices.Contains(clients, c) {
				c = clients[len(clients)-1]
			}
			report := paid(at, c.session, c.total, c.o)
			s.play(report)
			if c.late == nil || r.IntN(4) == 0 {
				c.late = report
			}
			got := s.f.Counters().Cost.USD
			if got < last {
				t.Fatalf("seed %d: the counter fell from %v to %v", seed, last, got)
			}
			if last = got; got > spent+1e-9 {
				t.Fatalf("seed %d: %v counted, %v spent", seed, got, spent)
			}
		}
	}
}

// TestCostExact tests that all of today is counted where clients go on from the totals of
// their sessions, as Claude Code does from 2.1.225 on. What they spend without a status
// line is estimated until a report includes it.
func TestCostExact(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		s := newScenario(t)
		var totals []float64 // of the sessions
		var unread [2][]step // lines of transcripts, by agent
		var spent, at float64
		var pids, sessions [2]int // of the agents
		var silent [2]bool
		pid := 0
		for i := range 100 {
			at += 0.2 + r.Float64()*6
			source := ""
			a := i % 2
			owes := silent[a] // a report
			silent[a] = false
			switch n := r.IntN(9); {
			case i < 2 || n == 0:
				source = "startup"
			case n == 1:
				source = "clear"
			case n == 2, n == 3:
				n := r.IntN(len(totals))
				if totals[n] > 0 && n != sessions[1-a] { // there is nothing to resume in others
					source = "resume"
					sessions[a] = n
				}
			case n == 4:
				restarts(s)
			default:
				n := r.IntN(64)
				spent += float64(n) / 64
				line := writes(sessions[a], reply(stampOf(at), "m"+strconv.Itoa(i), 102, n))
				if !owes && r.IntN(4) == 0 { // by claude -p beside the agent's client
					s.play(line, fires(at+0.05, sessions[a], hook.SessionEnd, from("", 1000+i)))
					break
				}
				totals[sessions[a]] += float64(n) / 64
				unread[a] = append(unread[a], line)
				silent[a] = r.IntN(3) == 0
			}
			if source == "startup" || source == "clear" {
				sessions[a] = len(totals)
				totals = append(totals, 0)
			}
			if source == "startup" || source == "resume" && r.IntN(2) == 0 { // another client
				s.dead[pids[a]] = true
				pid++
				pids[a] = pid
			}
			o := from(string(rune('a'+a)), pids[a])
			if source != "" {
				s.play(starts(at, sessions[a], source, o))
			}
			at += 0.1
			if r.IntN(2) == 0 {
				s.play(unread[a]...)
				unread[a] = nil
			}
			if !silent[a] {
				s.play(paid(at, sessions[a], totals[sessions[a]], o))
				s.play(unread[a]...)
				unread[a] = nil
			}
			if len(unread[0])+len(unread[1]) > 0 {
				continue
			}
			got := s.f.Counters().Today.Cost.USD
			if usd, _ := s.f.EstimatedToday(second(at + 60)); usd != nil {
				got += *usd
			}
			if got != spent {
				t.Fatalf("seed %d, step %d, %s: got %v, want %v", seed, i, source, got, spent)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	report := func(at float64, n int, five, seven float64) {
		st := hook.Status{SessionID: uuid(n), SM: from("a"+strconv.Itoa(n), n)}
		st.SM.At = second(at)
		st.RateLimits.FiveHour = hook.RateLimit{
			UsedPercentage: hook.Figure[float64]{Value: five, Known: true},
			ResetsAt:       hook.Figure[int64]{Value: second(100).Unix(), Known: true},
		}
		if seven > 0 {
			st.RateLimits.SevenDay = hook.RateLimit{
				UsedPercentage: hook.Figure[float64]{Value: seven, Known: true},
				ResetsAt:       hook.Figure[int64]{Value: second(1000).Unix(), Known: true},
			}
		}
		s.f.Status(&st, transcript.InstantOf(second(at)))
	}
	if got := s.f.Limits(second(0)); got != [2]Limit{} {
		t.Errorf("%+v before any report", got)
	}
	report(1, 1, 10, 50)
	report(3, 2, 40, 0)
	report(2, 3, 30, 0)
	used := func(at float64) [2]float64 {
		l := s.f.Limits(second(at))
		return [2]float64{l[0].Used, l[1].Used}
	}
	if d := cmp.Diff([2]float64{0.4, 0.5}, used(4)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([2]float64{0, 0.5}, used(100)); d != "" {
		t.Errorf("reset (-want +got):\n%s", d)
	}
}

func TestTodayEndsAtMidnight(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	s.f.options.Location = time.FixedZone("", 2*3600)
	one := from("a", 1)
	s.play(starts(0, 1, "startup", one), paid(1, 1, 1, one))
	before := s.f.Counters().Today
	if before.Cost.USD != 1 {
		t.Errorf("got %+v", before)
	}
	after := before.Ends.Time().Sub(created).Seconds()
	s.play(paid(after, 1, 1, one))
	if got := s.f.Counters(); got.Today.Cost.Known || !got.Cost.Known {
		t.Errorf("with only old cost: %+v", got)
	}
	s.play(paid(after+1, 1, 1.5, one))
	if got := s.f.Counters(); got.Today.Cost.USD != 0.5 || got.Cost.USD != 1.5 ||
		got.Today.Begins != before.Ends {
		t.Errorf("got %+v", got)
	}
}

// TestTodayHasItsHistory tests that usage since midnight counts once, whether it was found at
// the first start, later, or while it was appended; the counters start with the state
// directory.
func TestTodayHasItsHistory(t *testing.T) {
	t.Parallel()
	midnight := created.Truncate(24 * time.Hour)
	at := func(d time.Duration) string { return midnight.Add(d).Format("2006-01-02T15:04:05.000Z") }
	if created.Sub(midnight) < 2*time.Hour {
		t.Fatal("the state is created too early in the day for this test")
	}
	past := []string{
		reply(at(-time.Minute), "m1", 1_000, 1),
		reply(at(time.Minute), "m2", 2_000, 10),
		reply(at(time.Hour), "m3", 3_000, 100),
	}
	const today = 2_010 + 3_100
	for _, first := range []bool{true, false} {
		f := New(Options{Clients: clientstest.Table()}, Stored{Created: created})
		f.Clock(created)
		if !first {
			f.Settle(created)
		}
		f.Apply(ofSession(1, past...).whole())
		f.Apply(ofSession(2, past...).whole()) // a copy
		f.Settle(created)
		if got := f.Counters(); got.Today.Tokens != today || got.Tokens != (transcript.Usage{}) {
			t.Errorf(
				"first start %v: %d today, %+v in all, want %d and none",
				first,
				got.Today.Tokens,
				got.Tokens,
				today,
			)
		}
		p := ofSession(3)
		f.Apply(p.whole())
		f.Apply(p.add(reply(after(1), "m4", 4_000, 1)).grown())
		if got := f.Counters(); got.Today.Tokens != today+4_001 || got.Tokens.Output != 1 {
			t.Errorf(
				"first start %v, and then: %d today, %+v in all",
				first,
				got.Today.Tokens,
				got.Tokens,
			)
		}
	}
}

// TestEstimatedCost tests that tokens are priced by the longest name that fits the model,
// until the client reports its cost. Those of earlier days count only for the session.
func TestEstimatedCost(t *testing.T) {
	t.Parallel()
	s := newScenario(t)
	s.f.Clock(created)
	first := ofSession(
		1,
		reply(before(24*60), "m1", 102, 1_000_000),
		reply(after(1), "m2", 102, 2_000_000),
	)
	s.f.Apply(first.met())
	check := func(want string, prices ...transcript.Price) {
		t.Helper()
		s.f.Configure(nil, prices, s.f.options.Thresholds)
		v, _ := s.f.View(uuid(1), created)
		today, without := s.f.EstimatedToday(created)
		got, _ := json.Marshal([]any{v.EstimatedUSD, today, without})
		if string(got) != want {
			t.Errorf("session, today, and whether a model has no price: %s, want %s", got, want)
		}
	}
	opus := transcript.Price{Model: "claude-opus", Output: 25}
	others := transcript.Price{Model: "claude", Input: 0.1} // and for the cache
	check("[null,null,false]")
	check("[75,50,false]", opus)
	side := strings.ReplaceAll(reply(after(2), "m3", 1_000_102, 0), "opus-4-8", "haiku-4-5")
	s.f.Apply(subagentOf(1, "a1", side).met())
	check("[null,50,true]", opus)
	check("[75.1000102,50.10001,false]", opus, others)
	s.play(paid(130, 1, 3, from("a", 1)))
	check("[null,50.10001,false]", opus, others) // from before the first report
	s.f.Apply(ofSession(2, reply(before(24*60), "m1", 102, 1_000_000)).met())
	if v, _ := s.f.View(uuid(2), created); v.EstimatedUSD != nil {
		t.Errorf("a session of copied messages has the estimate %v", *v.EstimatedUSD)
	}
	third := ofSession(3, reply(after(3), "m4", 102, 1_000_000))
	s.f.Apply(third.met())
	s.f.Apply(third.gone())
	check("[null,75.10001,false]", opus) // what was spent today remains
}

// TestIdleCompactionForeseen tests that the status line and the client's settings show when
// an idle session compacts.
func TestIdleCompactionForeseen(t *testing.T) {
	t.Parallel()
	at := func(v *View) string {
		if v.IdleCompaction.IsZero() {
			return ""
		}
		return v.IdleCompaction.Sub(created).String()
	}
	st := status(250_000, 1_000_000)
	st.PromptCache.TTL = "1h"
	st.PromptCache.ExpiresAt = hook.Figure[int64]{Value: second(3600).Unix(), Known: true}
	o := from("a", 1)
	off := from("a", 1)
	off.AutoCompact.IdleOff = true

	s := newScenario(t).play(
		hooked(1, 1, hook.Payload{
			Event:         hook.SessionStart,
			Source:        "resume",
			ContextTokens: 240_000,
			CacheWriteUSD: 1.25,
		}, o),
	)
	v := s.f.Views(second(2))[0]
	if v.CacheWriteUSD != 1.25 || v.Reading.Tokens != 0 || at(&v) != "" {
		t.Errorf(
			"resumed: %g USD to come, %d tokens, idle compaction at %q",
			v.CacheWriteUSD,
			v.Reading.Tokens,
			at(&v),
		)
	}

	v = s.play(reports(3, 1, st, o), answers(4, 1, 250_000)).f.Views(second(5))[0]
	if v.CacheWriteUSD != 0 || at(&v) != "54m0s" || !v.Agent.Report.CacheExpires.Time().Equal(second(3600)) {
		t.Errorf(
			"after a reply: %g USD to come, idle compaction at %q, the cache expires at %v",
			v.CacheWriteUSD,
			at(&v),
			v.Agent.Report.CacheExpires.Time(),
		)
	}

	v = s.play(reports(6, 1, st, off)).f.Views(second(7))[0]
	if at(&v) != "" {
		t.Errorf("switched off: idle compaction at %q", at(&v))
	}
}
