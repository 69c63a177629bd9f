package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// asked is one request, and its time.
type asked struct {
	At     time.Duration
	Status Status
}

// reply is an answer of an observer.
type reply func(ctx context.Context) (Instruction, error)

// script is an observer that answers each request from a list, then holds all others.
type script struct {
	began   time.Time
	answers []reply
	asked   []asked
	held    int // cancelled requests
}

func (s *script) Next(ctx context.Context, status Status) (Instruction, error) {
	s.asked = append(s.asked, asked{time.Since(s.began), status})
	if n := len(s.asked); n <= len(s.answers) {
		return s.answers[n-1](ctx)
	}
	<-ctx.Done()
	s.held++
	return Instruction{}, ctx.Err()
}

// nothing is the answer of an observer that has waited.
func nothing(after time.Duration) reply {
	return func(ctx context.Context) (Instruction, error) {
		select {
		case <-time.After(after):
			return Instruction{}, nil
		case <-ctx.Done():
			return Instruction{}, ctx.Err()
		}
	}
}

func fails(context.Context) (Instruction, error) {
	return Instruction{}, errors.New("no observer")
}

func says(context.Context) (Instruction, error) {
	return Instruction{Rotation: "ro-1", Action: "restart"}, nil
}

// polling runs f with a poller that starts now.
func polling(t *testing.T, s *script, f func(p *poller)) {
	t.Helper()
	s.began = time.Now()
	p := newPoller(s)
	f(p)
	p.stop()
}

// serve is the supervisor's part for a time.
func serve(p *poller, d time.Duration, carryOut func(answer)) {
	for end := time.After(d); ; {
		select {
		case a := <-p.answers:
			p.answered(a)
			if a.Rotation != "" {
				carryOut(a)
			}
		case <-p.again:
			p.ask()
		case <-end:
			return
		}
	}
}

func TestPollBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{
			answers: slices.Repeat(
				[]reply{fails},
				7,
			),
		}
		s.answers = append(s.answers, nothing(25*time.Second), fails, fails)
		polling(t, s, func(p *poller) {
			p.report(Status{Client: Process{1, "1"}, RestartsLeft: 10})
			serve(p, 90*time.Second, nil)
		})
		var want []time.Duration
		for _, at := range []int{0, 1, 3, 7, 15, 25, 35, 45, 70, 71, 73} {
			want = append(want, time.Duration(at)*time.Second)
		}
		var at []time.Duration
		for _, a := range s.asked {
			at = append(at, a.At)
		}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestPollAsksForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		polling(t, s, func(p *poller) {
			serve(p, time.Hour, nil)
			if len(s.asked) > 0 {
				t.Error("request without a client")
			}
			p.report(Status{Client: Process{1, "1"}, RestartsLeft: 10})
			synctest.Wait()
			p.stop() // the client has ended
			serve(p, time.Hour, nil)
		})
		if len(s.asked) != 1 || s.held != 1 {
			t.Errorf("got %d requests, %d cancelled", len(s.asked), s.held)
		}
	})
}

// TestPollWhileRestarting tests that between two clients there are requests too, so that the
// run stays present, and that their answers are for the next client.
func TestPollWhileRestarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{
			answers: []reply{
				nothing(time.Hour),
				nothing(time.Second),
				says,
			},
		}
		first := Status{Client: Process{1, "1"}, RestartsLeft: 10, CanRestart: true}
		between := Status{RestartsLeft: 9, CanRestart: true}
		second := Status{Client: Process{2, "2"}, RestartsLeft: 9, CanRestart: true}
		var ordered []answer
		carryOut := func(a answer) { ordered = append(ordered, a) }
		polling(t, s, func(p *poller) {
			p.report(first)
			synctest.Wait()
			p.report(between)
			serve(p, 1500*time.Millisecond, carryOut)
			p.report(second)
			synctest.Wait()
			if len(ordered) != 1 || ordered[0].Rotation != "ro-1" ||
				ordered[0].status.Client != (Process{}) {
				t.Errorf("ordered %+v", ordered)
			}
		})
		want := []asked{
			{0, first},
			{0, between},
			{time.Second, between},
			{1500 * time.Millisecond, second},
		}
		if diff := cmp.Diff(want, s.asked); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestPollRepeatsOutcome tests that an outcome is sent until a request with it was answered,
// across errors and other clients.
func TestPollRepeatsOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{
			answers: []reply{
				says,
				fails,
				fails,
				nothing(time.Second),
				nothing(time.Second),
			},
		}
		outcome := Outcome{"ro-1", Restarted, ""}
		polling(t, s, func(p *poller) {
			p.report(Status{Client: Process{1, "1"}, RestartsLeft: 10})
			serve(p, time.Minute, func(a answer) {
				if diff := cmp.Diff(Process{1, "1"}, a.status.Client); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if len(s.asked) != 1 {
					t.Error("next request before the order was executed")
				}
				p.report(Status{Client: Process{2, "2"}, RestartsLeft: 9, Outcome: outcome})
			})
		})
		var got []string
		for _, a := range s.asked {
			got = append(
				got,
				fmt.Sprintf(
					"%d %d %s",
					a.Status.Client.PID,
					a.Status.RestartsLeft,
					a.Status.Outcome.Rotation,
				),
			)
		}
		want := []string{"1 10 ", "2 9 ro-1", "2 9 ro-1", "2 9 ro-1", "2 9 ", "2 9 "}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestPollSameOrder tests that an observer that repeats an order is answered once a second.
func TestPollSameOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{
			answers: slices.Repeat(
				[]reply{says},
				50,
			),
		}
		orders := 0
		polling(t, s, func(p *poller) {
			p.report(Status{Client: Process{1, "1"}, RestartsLeft: 10})
			serve(p, 10*time.Second, func(answer) {
				orders++
				if orders == 1 {
					p.report(Status{
						Client:       Process{2, "2"},
						RestartsLeft: 9,
						Outcome:      Outcome{"ro-1", Restarted, ""},
					})
				}
			})
		})
		if orders < 10 || orders > 12 {
			t.Errorf("%d orders in 10 s", orders)
		}
	})
}

// TestFarewell tests that an outcome that the observer has not received is sent once more at
// the end, for a second at most.
func TestFarewell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{began: time.Now()}
		p := newPoller(s)
		p.close()
		last := Status{RestartsLeft: 9, Outcome: Outcome{"ro-1", Failed, "no such program"}}
		p.report(last)
		synctest.Wait()
		p.close()
		want := []asked{{0, last}, {0, last}}
		if diff := cmp.Diff(want, s.asked); diff != "" || time.Since(s.began) != time.Second {
			t.Errorf("after %v (-want +got):\n%s", time.Since(s.began), diff)
		}
	})
}
