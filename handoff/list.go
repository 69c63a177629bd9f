package handoff

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
)

// Clear clears the channel's documents: none of them will be given any more,
// not even after a compaction. It returns the number of active ones. Without a
// manifest the error is ErrNoDocument.
func (d *Documents) Clear(channel string, now time.Time) (n int, err error) {
	err = d.locked("clear channel "+quoted(channel), channel, func(s *store, m *manifest) error {
		if m.Current == nil && len(m.Agents) == 0 {
			return ErrNoDocument
		}
		cleared := map[string]bool{}
		m.expire(now, d.expiry)
		for _, e := range m.entries() {
			if e.Status == StatusActive {
				e.Status = StatusCleared
				cleared[e.ID] = true
			}
		}
		for _, e := range m.Executed {
			e.Status = StatusCleared
		}
		n = len(cleared)
		return s.commit(m)
	})
	return n, err
}

// List returns the documents of all channels without their bodies, sorted by
// channel and then the newest first. It changes nothing. The error names files
// that could not be read.
func (d *Documents) List(now time.Time) (all []Document, err error) {
	err = d.with(func(s *store) error {
		if s == nil {
			return nil
		}
		names, err := fs.Glob(s.root.FS(), "[^.]*.manifest.json")
		errs := []error{err}
		for _, name := range names {
			m, err := readManifest(s.path(name))
			if err != nil {
				errs = append(
					errs,
					fmt.Errorf("%w; a damaged one is set aside when its channel is used next", err),
				)
				continue
			}
			m.expire(now, d.expiry)
			docs := map[string]Document{}
			for _, e := range m.entries() {
				docs[e.ID] = s.document(m, e)
			}
			all = slices.AppendSeq(all, maps.Values(docs))
		}
		return errors.Join(errs...)
	})
	slices.SortStableFunc(all, func(a, b Document) int {
		return cmp.Or(
			strings.Compare(a.Channel, b.Channel),
			b.CreatedAt.Compare(a.CreatedAt),
			strings.Compare(b.ID, a.ID),
		)
	})
	if err != nil {
		return all, fmt.Errorf("list handoff documents: %w", err)
	}
	return all, nil
}
