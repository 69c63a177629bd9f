package state

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"sm/observer/fleet"
	"sm/transcript"
)

// How many records and claims go into one transaction of a first start, which
// bounds the memory that it takes.
const (
	bulk       = 1 << 12
	bulkClaims = 1 << 16
)

// Save stores a delta and values in one transaction, and returns when they are on
// the disk. After an error they may be stored or not: save them again, or
// something newer in their place.
//
// Only a large delta of a first start, while the history is not settled, takes
// several transactions. If it is interrupted, the next start begins anew.
func (s *Store) Save(d fleet.Delta, values ...Value) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()

	if err := s.save(d, values); err != nil {
		return fmt.Errorf("save state: %w", withErrno(err))
	}
	return nil
}

func (s *Store) save(d fleet.Delta, values []Value) error {
	if err := s.ready(); err != nil {
		return err
	}
	records := len(d.Files) + len(d.Records) + len(d.Claims) + len(d.Messages)
	settles := d.Settled && !s.head.Settled
	if !settles && d.Counters == nil && records+len(d.Gone)+len(values) == 0 {
		return nil
	}

	steps := []func(*writer){func(w *writer) {
		for _, path := range d.Gone {
			w.delete(filesBucket, keyOf(path))
		}
	}}
	steps = append(steps, inOrder(d.Files, bulk, filesKey, (*writer).file)...)
	steps = append(steps, inOrder(d.Records, bulk, recordKey, (*writer).session)...)
	steps = append(steps, claims(messagesBucket, d.Messages)...)
	steps = append(steps, claims(compactionsBucket, d.Claims)...)
	last := func(w *writer) {
		if d.Counters != nil {
			w.put(metaBucket, []byte(countersRecord), d.Counters)
		}
		for _, v := range values {
			if v.Data == nil {
				w.delete(valuesBucket, []byte(v.Name))
			} else {
				w.putBytes(valuesBucket, []byte(v.Name), v.Data)
			}
		}
		w.head.Settled = w.head.Settled || d.Settled
	}

	if !s.head.Settled && records > bulk {
		for _, step := range steps {
			if err := s.update(step); err != nil {
				return err
			}
		}
		steps = nil
	}
	return s.update(func(w *writer) {
		for _, step := range append(steps, last) {
			step(w)
		}
	})
}

func filesKey(f *fleet.File) transcript.Key           { return transcript.KeyOf([]byte(f.Cursor.Path)) }
func recordKey(r *fleet.SessionRecord) transcript.Key { return transcript.KeyOf([]byte(r.SessionID)) }

func keyOf(s string) []byte { return keyBytes(transcript.KeyOf([]byte(s))) }

func (w *writer) file(key []byte, f *fleet.File)             { w.put(filesBucket, key, f) }
func (w *writer) session(key []byte, r *fleet.SessionRecord) { w.put(sessionsBucket, key, r) }

func claims(bucket string, list []fleet.Claim) []func(*writer) {
	key := func(c *fleet.Claim) transcript.Key { return c.Key }
	return inOrder(list, bulkClaims, key, func(w *writer, key []byte, c *fleet.Claim) {
		if c.Key != 0 && c.Owner != 0 {
			w.putBytes(bucket, key, keyBytes(c.Owner))
		}
	})
}

// inOrder returns steps that store most records each, in the order of their keys: bbolt would
// move most of a page each time for thousands of keys in random order. Of two
// records with the same key the later one is stored last.
func inOrder[T any](
	list []T,
	most int,
	key func(*T) transcript.Key,
	store func(*writer, []byte, *T),
) []func(*writer) {
	type place struct {
		key   transcript.Key
		index int
	}
	places := make([]place, len(list))
	for i := range list {
		places[i] = place{key(&list[i]), i}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.index, b.index))
	})

	var steps []func(*writer)
	for part := range slices.Chunk(places, most) {
		steps = append(steps, func(w *writer) {
			for _, p := range part {
				store(w, keyBytes(p.key), &list[p.index])
			}
		})
	}
	return steps
}

// withErrno restores the cause of errors that bbolt formats instead of wrapping.
func withErrno(err error) error {
	for _, cause := range []syscall.Errno{
		syscall.ENOSPC,
		syscall.EDQUOT,
		syscall.EFBIG,
		syscall.EIO,
		syscall.EROFS,
	} {
		if !errors.Is(err, cause) && strings.HasSuffix(err.Error(), cause.Error()) {
			return fmt.Errorf("%w (%w)", err, cause)
		}
	}
	return err
}
