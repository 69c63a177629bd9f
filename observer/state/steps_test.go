package state

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"sm/observer/fleet"
	"sm/observer/tally"
	"sm/transcript"
)

// Each of Steps changes something in every kind of record, so that a state that is not
// exactly that after some step is a mixture of two.

const stepFiles = 10

func stepDelta(n int) (fleet.Delta, Value) {
	d := fleet.Delta{
		Settled:  true,
		Files:    []fleet.File{stepFile(n, n), stepFile(n-1, n)},
		Gone:     []string{stepFile(n-stepFiles, 0).Cursor.Path},
		Records:  []fleet.SessionRecord{sampleRecord(n)},
		Claims:   []fleet.Claim{stepClaim(n, 0)},
		Counters: &tally.Counters{Bytes: uint64(n)},
	}
	for i := range 3 {
		d.Messages = append(d.Messages, stepClaim(n, 1+i))
	}
	return d, Value{"step", []byte(strconv.Itoa(n))}
}

// stepFile returns a file after a step.
func stepFile(n, step int) fleet.File {
	f := sampleFile(n)
	f.Cursor.Offset = int64(step)
	return f
}

func stepClaim(n, kind int) fleet.Claim {
	return fleet.Claim{
		Key:   transcript.Join(transcript.Key(n), transcript.Key(kind)),
		Owner: transcript.Key(1 + n%100),
	}
}

// stepStored returns the state after n steps.
func stepStored(n int) fleet.Stored {
	s := fleet.Stored{Created: testNow(), Settled: n > 0}
	for i := 1; i <= n; i++ {
		s.Records, s.Claims = append(
			s.Records,
			sampleRecord(i),
		), append(
			s.Claims,
			stepClaim(i, 0),
		)
	}
	for i := max(n-stepFiles+1, 0); i <= n && n > 0; i++ {
		s.Files = append(s.Files, stepFile(i, min(i+1, n)))
	}
	s.Counters.Bytes = uint64(n)
	return s
}

// checkSteps compares the store with n steps, to the last record.
func checkSteps(s *Store, n int) error {
	stored, err := s.Load()
	if err != nil {
		return err
	}
	if d := sameStored(stepStored(n), stored); d != "" {
		return fmt.Errorf("not the state after %d steps (-want +got):\n%s", n, d)
	}
	for i := 1; i <= n+3; i++ {
		for kind := 1; kind <= 3; kind++ {
			want := stepClaim(i, kind)
			if owner, ok := s.Owner(want.Key); ok != (i <= n) || ok && owner != want.Owner {
				return fmt.Errorf(
					"after %d steps message %d of step %d: %d, %v",
					n,
					kind,
					i,
					owner,
					ok,
				)
			}
		}
	}
	values, err := valuesOf(s)
	values = slices.DeleteFunc(values, func(v Value) bool { return v.Name != "step" })
	if err != nil ||
		n > 0 && (len(values) != 1 || string(values[0].Data) != strconv.Itoa(n)) {
		return fmt.Errorf("after %d steps the value is %v, %w", n, values, err)
	}
	if s.Dropped() > 0 {
		return fmt.Errorf("after %d steps %d records are damaged", n, s.Dropped())
	}
	return nil
}

// stepsDone returns the number of steps in a store.
func stepsDone(s *Store) (int, error) {
	stored, err := s.Load()
	return int(stored.Counters.Bytes), err
}

func openSteps(dir string) (s *Store, n int, err error) {
	if s, err = Open(dir, quiet(), testNow()); err != nil {
		return nil, 0, err
	}
	n, err = stepsDone(s)
	return s, n, err
}

// saveChild makes steps until it is killed, and prints each when it is stored.
func saveChild(args []string) error {
	s, n, err := openSteps(args[0])
	if err != nil {
		return err
	}
	for {
		n++
		d, v := stepDelta(n)
		if err := s.Save(d, v); err != nil {
			return err
		}
		say("%d", n)
	}
}

// retryChild makes some steps, each repeated until it succeeds, and prints errors and stored
// steps.
func retryChild(args []string) error {
	last, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	s, n, err := openSteps(args[0])
	for tries := 0; err != nil && tries < 3; tries++ {
		say("failed")
		s, n, err = openSteps(args[0])
	}
	if err != nil {
		return err
	}
	before, _ := os.Stat(s.path())
	for tries := 0; n < last && tries < 50; {
		d, v := stepDelta(n + 1)
		if err := s.Save(d, v); err != nil {
			fmt.Fprintln(os.Stderr, err)
			say("failed")
			tries++
			continue
		}
		n++
		say("%d", n)
	}
	if err := checkSteps(s, last); err != nil {
		return err
	}
	if after, _ := os.Stat(s.path()); !os.SameFile(before, after) {
		say("renewed")
	}
	return s.Close()
}
