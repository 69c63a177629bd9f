package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sideBySide is an observer of two clients at work, and what it has used.
type sideBySide struct {
	*daemon
	loads   map[string]*load // by client
	cpu     time.Duration    // of the processes that have ended
	peak    int              // of memory, in KB
	scrapes int
}

// TestSoakClients: of both clients side by side, each under load, everything counts once, whatever becomes of the observer
// meanwhile. It goes on for SM_SOAK, at SM_SOAK_RATE lines a second of each client (100).
func TestSoakClients(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	t.Parallel()
	length := 4 * time.Second
	rate := 300
	width := 20
	if d, err := time.ParseDuration(os.Getenv("SM_SOAK")); err == nil {
		length = d
		rate = 100
		width = 120
	}
	if n, err := strconv.Atoi(os.Getenv("SM_SOAK_RATE")); err == nil {
		rate = n
	}
	d := newDaemon(t)
	d.vars = []string{"SM_METRICS_MAX_SESSIONS=100000", "SM_METRICS_SESSION_TTL=1000h"}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := &sideBySide{daemon: d, loads: map[string]*load{
		"claude": newLoad(t, seed, rate, width, claudeSessions(d.projects)),
		"codex":  newLoad(t, seed, rate, width, codexSessions(filepath.Join(d.dir, ".codex"))),
	}}
	d.start()
	stop := make(chan struct{})
	var writing sync.WaitGroup
	for _, l := range s.loads {
		writing.Go(func() { l.run(stop) })
	}
	halt := sync.OnceFunc(func() { close(stop); writing.Wait() })
	defer halt() // where the test ends early
	s.watch(length)
	halt()

	s.settled("at the end")
	s.told()
	s.used()
	if code := d.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	d.start()
	s.settled("after an orderly restart")
	if log := d.log(1 << 20); strings.Contains(log, "level=ERROR") || strings.Contains(log, "panic") {
		t.Errorf("its log:\n%s", log)
	}
	for client, l := range s.loads {
		t.Logf(
			"FIGURES: %s: %d lines, %.1f MB, %d sessions; %v",
			client,
			l.lines,
			float64(l.bytes)/1e6,
			len(l.truth.Sessions),
			l.truth.Counters,
		)
	}
	t.Logf("FIGURES: %v, %d scrapes; CPU %v, %.1f %% of one; at most %.1f MB of memory", length, s.scrapes,
		s.cpu.Round(time.Millisecond), 100*s.cpu.Seconds()/length.Seconds(), float64(s.peak)/1024)
}

// watch scrapes the observer as Prometheus does, and ends it six times: by a kill, and in order.
func (s *sideBySide) watch(length time.Duration) {
	const ends = 6
	begun := time.Now()
	tick := time.NewTicker(min(5*time.Second, length/40))
	defer tick.Stop()
	for n := 0; time.Since(begun) < length; {
		<-tick.C
		s.exceeded()
		if n < ends && time.Since(begun) > time.Duration(n+1)*length/(ends+1) {
			s.used()
			if n++; n%3 == 0 {
				if code := s.end(syscall.SIGTERM); code != 0 {
					s.t.Errorf("exit code %d", code)
				}
			} else if !s.kill() {
				s.t.Fatal("it had ended by itself")
			}
			s.start()
		}
	}
}

// counters are those totals of one client that a load knows.
func (s *sideBySide) counters(client string) map[string]float64 {
	all := s.series()
	maps.DeleteFunc(all, func(series string, v float64) bool {
		return v == 0 ||
			!strings.HasPrefix(series, `agent_compactions_total{client="`+client+`"`) &&
				!strings.HasPrefix(series, `agent_tokens_total{client="`+client+`"`)
	})
	return all
}

// exceeded checks that no more was counted than was written.
func (s *sideBySide) exceeded() {
	s.scrapes++
	for client, l := range s.loads {
		got := s.counters(client)
		l.mu.Lock()
		for series, v := range got {
			if v > l.truth.Counters[series] {
				s.t.Errorf("%s is %v, and what is written adds up to %v", series, v, l.truth.Counters[series])
			}
		}
		l.mu.Unlock()
	}
}

// settled waits until the observer says of both clients what was written.
func (s *sideBySide) settled(what string) {
	s.t.Helper()
	for client, l := range s.loads {
		s.within(5*time.Minute, client+", "+what, func() string {
			answer, err := s.api.Sessions(s.t.Context())
			if err != nil {
				return err.Error()
			}
			sessions := map[string]seat{}
			for _, x := range answer.Sessions {
				if x.Client != client {
					continue
				}
				now := seat{
					Compactions: x.Compactions.Auto + x.Compactions.Manual + x.Compactions.Unknown + x.Inherited,
				}
				if x.TokensUsed != nil {
					now.Context = *x.TokensUsed
				}
				sessions[x.SessionID] = now
			}
			return cmp.Diff(l.truth.Counters, s.counters(client)) + cmp.Diff(l.truth.Sessions, sessions)
		})
	}
}

// told compares the notices to the agents with how often their contexts began anew: at most one of each level from one
// beginning to the next.
func (s *sideBySide) told() {
	answer, err := s.api.Sessions(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	total := map[string]int{}
	for _, x := range answer.Sessions {
		list, err := s.api.Messages(s.t.Context(), x.ID)
		if err != nil {
			s.t.Fatal(err)
		}
		counts := map[string]int{}
		for _, m := range list.Messages {
			level := m.Key[strings.LastIndexByte(m.Key, '/')+1:]
			counts[level]++
			total[x.Client+" "+level]++
		}
		for _, level := range []string{"warning", "critical"} {
			if cycles := s.loads[x.Client].truth.cycles[x.SessionID]; counts[level] > cycles {
				s.t.Errorf(
					"%s was told %d times that its context is at %s, in %d cycles",
					x.SessionID,
					counts[level],
					level,
					cycles,
				)
			}
		}
	}
	s.t.Logf("FIGURES: notices %v", total)
}

// used adds the CPU time of the present process, where the system reports it.
func (s *sideBySide) used() {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid)) // not everywhere
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	memory := map[string]int{}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && slices.Contains([]string{"VmHWM:", "VmRSS:"}, f[0]) {
			memory[f[0]], _ = strconv.Atoi(f[1])
		}
	}
	cpu := time.Duration(0)
	if _, rest, ok := strings.Cut(string(stat), ") "); ok {
		for _, field := range strings.Fields(rest)[11:13] { // in user and in system mode
			ticks, _ := strconv.Atoi(field)
			cpu += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	s.cpu, s.peak = s.cpu+cpu, max(s.peak, memory["VmHWM:"])
	s.t.Logf(
		"FIGURES: of one process: CPU %v, memory %.1f MB, at most %.1f MB",
		cpu,
		float64(memory["VmRSS:"])/1024,
		float64(memory["VmHWM:"])/1024,
	)
}
