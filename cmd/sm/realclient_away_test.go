//go:build realclient

package main_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"sm/observer/api"
)

// clientStream is a client without a terminal that takes prompts one after another,
// as editors run it.
type clientStream struct {
	t       *testing.T
	prompts *json.Encoder
	session string
	results chan struct{} // one for each turn that has ended
}

// stream starts a client that ends with the test.
func (h *clientHome) stream() *clientStream {
	h.t.Helper()
	cmd := grouped(h.t.Context(), h.client, "--print", "--verbose", "--model", h.model,
		"--input-format", "stream-json", "--output-format", "stream-json")
	cmd.Dir = h.project
	cmd.Env = slices.Concat(h.environ(), h.extra)
	in, err := cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}

	h.pid = cmd.Process.Pid

	s := &clientStream{t: h.t, prompts: json.NewEncoder(in), results: make(chan struct{}, 16)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.read(out)
	}()
	h.t.Cleanup(func() {
		in.Close()
		<-read
		_ = cmd.Wait() // the test may have killed it
	})
	return s
}

func (s *clientStream) read(out io.Reader) {
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var record struct {
			Type    string `json:"type"`
			Session string `json:"session_id"`
		}
		if json.Unmarshal(line, &record) == nil && record.Type == "result" {
			s.session = record.Session
			s.results <- struct{}{}
		}
	}
}

// turn lets the client take a prompt to its end.
func (s *clientStream) turn() {
	s.t.Helper()
	prompt := map[string]any{
		"type":    "user",
		"message": map[string]string{"role": "user", "content": "Go on."},
	}
	if err := s.prompts.Encode(prompt); err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-s.results:
	case <-time.After(patience):
		s.t.Fatal("the turn does not end")
	}
}

// TestRealClientAwayCompaction lets a client of an editor write a summary while its
// user is away, and use it once its cache has expired.
func TestRealClientAwayCompaction(t *testing.T) {
	r := newPolicyRunOf(t, installClient(t, "", newestClient), "CLAUDE_SESSION_MANAGER_ID=worker")
	written := r.home.dir + "/written"
	r.home.touchesAtSubagentStop(written)
	clock := newClientClock(t, r.home.dir)
	r.stub.hourly = true
	r.stub.early = true
	r.home.model = "claude-opus-4-8[1m]"
	r.home.extra = append(r.home.extra, clock.vars...)
	r.home.extra = append(r.home.extra,
		"CLAUDE_CODE_PROMPT_CACHE_TTL=1h", "CLAUDE_CODE_ENTRYPOINT=claude-vscode")
	client := r.home.stream()
	r.stub.script(modelStep{grow: 20_000, tools: 1}, modelStep{grow: 230_000})
	client.turn()
	r.enter(client.session)

	// The registry has the time of the client's clock, which is still that of the
	// observer.
	eventually(t, "the client is idle", func() string {
		if status, _ := r.home.status(); status != "idle" {
			return "it is " + status
		}
		return ""
	})
	r.stub.holdSummary()
	clock.move(idleFor)
	r.held()
	began := time.Now()
	eventually(t, "compacting ends", func() string {
		if r.me().IsCompacting {
			return "it compacts"
		}
		return ""
	})
	compacting := time.Since(began)
	if compacting > soon {
		t.Errorf("compacting for %v, want at most %v", compacting, soon)
	}

	r.stub.letGo()
	eventually(t, "the summary is written", func() string {
		if _, err := os.Stat(written); err != nil {
			return err.Error()
		}
		return ""
	})
	r.compacted("a summary is written", api.Compactions{}, api.Compactions{})

	clock.move(15 * time.Minute)
	r.stub.script(modelStep{grow: afterCompaction - r.context()})
	client.turn()
	r.sm.called("PostCompact", 1)
	eventually(t, "the boundary is read", func() string {
		if s := r.me(); s.Compactions.Total() == 0 || s.TokensUsed == nil {
			return "it is not"
		}
		return ""
	})
	r.compacted("the summary is used", api.Compactions{Idle: 1}, api.Compactions{})
	if n := len(boundaries(t, r.home.projects, r.current)); n != 1 {
		t.Errorf("%d boundaries, want 1", n)
	}
	knownNames(t, r.home.projects)
	t.Logf("FIGURES: compacting for %v", compacting)
	r.report()
}
