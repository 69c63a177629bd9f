package state

import (
	"fmt"
	"maps"
	"slices"

	"sm/observer/fleet"
	"sm/transcript"
)

// bulk is the size in bytes of a transaction of a first start or of a new file,
// which limits the memory that it takes. recordOverhead is bbolt's memory for
// each record.
const (
	bulk           = 4 << 20
	recordOverhead = 64
)

// Save stores a delta and values in one transaction, and returns when they are
// on the disk. After an error they may or may not be stored: save them again,
// or newer ones in their place.
//
// Only a large delta of a first start, while the history is not settled, takes
// several transactions. If it is interrupted, the next start begins again.
func (s *Store) Save(d fleet.Delta, values ...Value) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()

	err := s.ready()
	settles := d.Settled && !s.head.Settled
	records := len(d.Gone) + len(d.Files) + len(d.Records) + len(d.Claims) + len(d.Messages)
	if err == nil && (settles || d.Counters != nil || records+len(values) > 0) {
		err = s.update(func(w *writer) error {
			w.save(&d, values)
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	return nil
}

// save stores a delta and values.
func (w *writer) save(d *fleet.Delta, values []Value) {
	for _, path := range d.Gone {
		w.delete(filesBucket, keyBytes(transcript.KeyOf([]byte(path))))
	}
	inOrder(d.Files,
		func(f *fleet.File) transcript.Key { return transcript.KeyOf([]byte(f.Cursor.Path)) },
		func(key []byte, f *fleet.File) { w.put(filesBucket, key, f) })
	inOrder(d.Records,
		func(r *fleet.SessionRecord) transcript.Key { return transcript.KeyOf([]byte(r.SessionID)) },
		func(key []byte, r *fleet.SessionRecord) { w.put(sessionsBucket, key, r) })
	w.claims(messagesBucket, d.Messages)
	w.claims(compactionsBucket, d.Claims)
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

func (w *writer) claims(bucket string, list []fleet.Claim) {
	inOrder(list,
		func(c *fleet.Claim) transcript.Key { return c.Key },
		func(key []byte, c *fleet.Claim) { w.putBytes(bucket, key, keyBytes(c.Owner)) })
}

// inOrder stores records in the order of their keys: with thousands of keys in
// random order bbolt would move most of a page for each. Of two records with
// the same key the later one is stored.
func inOrder[T any](list []T, key func(*T) transcript.Key, store func([]byte, *T)) {
	last := map[transcript.Key]*T{}
	for i := range list {
		last[key(&list[i])] = &list[i]
	}
	for _, k := range slices.Sorted(maps.Keys(last)) {
		store(keyBytes(k), last[k])
	}
}
