package state

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"go.etcd.io/bbolt"

	"sm/observer/fleet"
	"sm/transcript"
)

// Save stores a delta and values in one transaction, and returns when they are on the
// disk. After an error nothing of them may be relied on, neither that it is stored
// nor that it is not: save it again, or something newer in its place.
//
// While the history is not settled, more than 65536 claims of messages and more than
// 4096 files or session records go ahead in transactions of their own, so that memory stays bounded.
// A kill in between leaves them and no settled history, and they are forgotten at the next
// start.
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
	next := s.head
	next.settled = next.settled || d.Settled
	if next == s.head && d.Counters == nil && len(d.Files)+len(d.Gone)+len(d.Records)+len(d.Claims)+len(d.Messages)+len(values) == 0 {
		return nil
	}
	if err := s.saveBulk(&d); err != nil {
		return err
	}
	if len(d.Files)+len(d.Records) > bulkRecords && !s.head.settled {
		if err := s.saveRecords(d.Files, d.Records); err != nil {
			return err
		}
		d.Files, d.Records = nil, nil
	}
	claims, messages := prepare(d.Claims, 0, 0, &s.owners), prepare(d.Messages, 0, 0, &s.owners)
	s.claimed.claim(messages)
	return s.update(func(tx *bbolt.Tx) error {
		w := writer{tx: tx}
		w.clean(s.lost)
		w.files(d.Gone, d.Files)
		w.sessionRecords(d.Records)
		if d.Counters != nil {
			w.put(metaBucket, []byte(countersRecord), func(c *coder) { c.counters(d.Counters) })
		}
		if next != s.head {
			w.put(metaBucket, []byte(headRecord), func(c *coder) { c.head(&next) })
		}
		w.values(values)
		if w.err != nil {
			return w.err
		}
		return errors.Join(
			compactionLedger.put(tx, claims),
			messageLedger.put(tx, messages),
			s.owners.write(tx),
		)
	}, func() {
		s.head = next
		for p := range s.lost {
			s.lost[p] = true
		}
	})
}

// saveBulk stores the messages' claims of a delta and takes them out of it, where they are many and the history is not
// settled. It stores a slice of the keys at a time: each transaction then has a stretch of the ledger to itself.
func (s *Store) saveBulk(d *fleet.Delta) error {
	if len(d.Messages) <= bulk || s.head.settled {
		return nil
	}
	width := bits.Len(uint(len(d.Messages) / bulk))
	for part := range uint64(1) << width {
		messages := prepare(d.Messages, part, width, &s.owners)
		s.claimed.claim(messages)
		err := s.update(func(tx *bbolt.Tx) error {
			err := messageLedger.put(tx, messages)
			return errors.Join(err, s.owners.write(tx))
		}, func() {})
		if err != nil {
			return err
		}
	}
	d.Messages = nil
	return nil
}

// bulkRecords is how many files or session records go into one transaction of a first start.
const bulkRecords = 1 << 12

// saveRecords stores many files and session records, in the order in which bbolt stores best.
func (s *Store) saveRecords(files []fleet.File, records []fleet.SessionRecord) error {
	put := func(order []int, one func(w *writer, i int)) error {
		for part := range slices.Chunk(order, bulkRecords) {
			err := s.update(func(tx *bbolt.Tx) error {
				w := writer{tx: tx}
				for _, i := range part {
					one(&w, i)
				}
				return w.err
			}, func() {})
			if err != nil {
				return err
			}
		}
		return nil
	}
	return errors.Join(
		put(byKey(files, pathOf), func(w *writer, i int) { w.file(&files[i]) }),
		put(byKey(records, idOf), func(w *writer, i int) { w.sessionRecord(&records[i]) }),
	)
}

func pathOf(f *fleet.File) string        { return f.Cursor.Path }
func idOf(s *fleet.SessionRecord) string { return s.SessionID }

// forgetUnsettled empties the state of a first start that did not come to its end:
// all but when it was made, and the values. What it may hold are claims without the
// files that made them (see Save), and what is read again must find none.
func (s *Store) forgetUnsettled() error {
	if s.head.settled {
		return nil
	}
	kept := []string{metaBucket, valuesBucket}
	empty := true
	err := s.view(func(tx *bbolt.Tx) error {
		for _, name := range buckets() {
			k, _ := tx.Bucket([]byte(name)).Cursor().First()
			empty = empty && (k == nil || slices.Contains(kept, name))
		}
		return nil
	})
	if err != nil || empty {
		return err
	}
	return s.update(func(tx *bbolt.Tx) error {
		for _, name := range buckets() {
			if slices.Contains(kept, name) {
				continue
			}
			if err := tx.DeleteBucket([]byte(name)); err != nil {
				return err
			}
		}
		if err := tx.Bucket([]byte(metaBucket)).Delete([]byte(countersRecord)); err != nil {
			return err
		}
		return makeBuckets(tx, s.head)
	}, func() { s.owners = owners{numbers: map[transcript.Key]uint32{}} })
}

// makeBuckets lays out an empty state. Values may be there already.
func makeBuckets(tx *bbolt.Tx, h head) error {
	for _, name := range buckets() {
		if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
			return err
		}
	}
	w := writer{tx: tx}
	version, maker := schema, ""
	if info, ok := debug.ReadBuildInfo(); ok {
		maker = info.Main.Version
	}
	w.put(metaBucket, []byte(schemaRecord), func(c *coder) { number(c, &version) })
	w.put(metaBucket, []byte(makerRecord), func(c *coder) { c.text(&maker) })
	w.put(metaBucket, []byte(headRecord), func(c *coder) { c.head(&h) })
	return w.err
}

// writer puts records into a transaction and keeps the first error.
type writer struct {
	tx   *bbolt.Tx
	err  error
	room []byte // where a record is put together
}

func (w *writer) put(bucket string, key []byte, fields func(*coder)) {
	if w.err != nil {
		return
	}
	c := coder{buf: append(w.room[:0], format)}
	fields(&c)
	w.room = c.buf
	b := w.tx.Bucket([]byte(bucket))
	b.FillPercent = 0.8 // records grow a little now and then
	w.err = b.Put(key, seal(bucket, key, append(make([]byte, 0, len(c.buf)+sumSize), c.buf...)))
}

func (w *writer) delete(bucket string, key []byte) {
	if w.err == nil {
		w.err = w.tx.Bucket([]byte(bucket)).Delete(key)
	}
}

// clean removes damaged records. Those of owners stay, for their numbers are taken.
func (w *writer) clean(lost map[place]bool) {
	for p, removed := range lost {
		if !removed && p.bucket != ownersBucket {
			w.delete(p.bucket, []byte(p.key))
		}
	}
}

func (w *writer) files(gone []string, files []fleet.File) {
	for _, path := range gone {
		w.delete(filesBucket, keyOf(path))
	}
	for _, i := range byKey(files, pathOf) {
		w.file(&files[i])
	}
}

func (w *writer) file(f *fleet.File) {
	w.put(filesBucket, keyOf(f.Cursor.Path), func(c *coder) { c.file(f) })
}

func (w *writer) sessionRecords(records []fleet.SessionRecord) {
	for _, i := range byKey(records, idOf) {
		w.sessionRecord(&records[i])
	}
}

func (w *writer) sessionRecord(s *fleet.SessionRecord) {
	w.put(sessionsBucket, keyOf(s.SessionID), func(c *coder) { c.sessionRecord(s) })
}

func (w *writer) values(values []Value) {
	for _, v := range values {
		if v.Data == nil {
			w.delete(valuesBucket, []byte(v.Name))
			continue
		}
		w.put(valuesBucket, []byte(v.Name), func(c *coder) { c.buf = append(c.buf, v.Data...) })
	}
}

// byKey gives the order in which bbolt stores best: each key behind the one before.
// Thousands put at random into one page would move most of it each time.
func byKey[T any](records []T, name func(*T) string) []int {
	type place struct {
		key   transcript.Key
		index int
	}
	places := make([]place, len(records))
	for i := range records {
		places[i] = place{transcript.KeyOf([]byte(name(&records[i]))), i}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.index, b.index))
	})
	order := make([]int, len(places))
	for i, p := range places {
		order[i] = p.index
	}
	return order
}

// withErrno gives errors their cause back that bbolt formats instead of wrapping.
func withErrno(err error) error {
	for _, cause := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO, syscall.EROFS} {
		if !errors.Is(err, cause) && strings.HasSuffix(err.Error(), cause.Error()) {
			return fmt.Errorf("%w (%w)", err, cause)
		}
	}
	return err
}
