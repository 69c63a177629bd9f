package handoff

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Current returns the channel's newest document, whatever its status.
func (d *Documents) Current(
	channel string,
	now time.Time,
) (doc Document, ok bool, err error) {
	err = d.locked("read handoff document", channel, now, nil, func(s *store, m *manifest) (err error) {
		if m.Current == nil {
			return nil
		}
		doc, err = s.body(channel, m.Current, "", m.Current.Agent)
		ok = err == nil
		doc.Current = ok
		return err
	})
	return doc, ok, err
}

// Clear clears the channel's documents: none will be given, nor given again after a
// compaction. It returns how many were active. Without a manifest the error is ErrNoDocument.
func (d *Documents) Clear(channel string, now time.Time) (n int, err error) {
	err = d.locked("clear channel "+quoted(channel), channel, now, ErrNoDocument, func(s *store, m *manifest) error {
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
		if err := s.commit(m, nil); err != nil {
			return err
		}
		n = len(cleared)
		return nil
	})
	return n, err
}

// List returns the documents of all channels, by channel, the newest first, without their
// bodies. It changes nothing. The error names what could not be read.
func (d *Documents) List(now time.Time) (all []Document, err error) {
	err = d.with(false, func(s *store) error {
		names, err := s.names()
		if err != nil {
			return err
		}
		var errs []error
		slices.Sort(names)
		for _, name := range names {
			if strings.HasPrefix(name, ".") || !strings.HasSuffix(name, ".manifest.json") {
				continue
			}
			docs, err := s.list(name, now, d.expiry)
			if err != nil {
				errs = append(
					errs,
					fmt.Errorf(
						"read %s: %w; a damaged one is set aside when its channel is used next",
						quoted(name),
						err,
					),
				)
			}
			all = append(all, docs...)
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
	if errors.Is(err, errNoFolder) {
		return nil, nil
	}
	if err != nil {
		return all, fmt.Errorf("list handoff documents: %w", err)
	}
	return all, nil
}

// list returns the documents of one manifest, each once.
func (s *store) list(name string, now time.Time, expiry time.Duration) ([]Document, error) {
	data, err := s.read(name, maxManifest)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(data, "")
	if err != nil {
		return nil, err
	}
	channel := m.Channel
	if manifestFile(channel) != name {
		return nil, errChannel
	}
	m.expire(now, expiry)
	docs := map[string]Document{}
	for _, agent := range slices.Sorted(maps.Keys(m.Agents)) {
		e := m.Agents[agent]
		if _, known := docs[e.ID]; known && agent != e.owner() {
			continue // a copy at the agent that left it
		}
		doc := e.Document
		doc.Channel, doc.File = channel, filepath.Join(s.dir, agentFile(channel, agent, ""))
		docs[e.ID] = doc
	}
	if m.Current != nil {
		doc, known := docs[m.Current.ID]
		if !known {
			doc = m.Current.Document
			doc.Channel, doc.File = channel, filepath.Join(s.dir, currentFile(channel))
		}
		doc.Current = true
		docs[m.Current.ID] = doc
	}
	return slices.Collect(maps.Values(docs)), nil
}
