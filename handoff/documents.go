package handoff

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
	"unicode/utf8"
)

const (
	// maxBody limits a document, in bytes; the configuration allows no larger ones.
	maxBody = 16 << 20
	// maxNames limits a document's other fields together.
	maxNames = 32 << 10
	// maxFile limits its file, which begins with comments.
	maxFile = maxBody + 2*maxNames
)

// Documents are the documents in one folder:
//
//	{channel}.manifest.json   the list, with statuses
//	{channel}-{id}.md         a document that is in the list
//
// Characters that cannot be in file names are written as %XX; long names end in a hash. Any
// number of goroutines and processes may use one folder: functions hold its lock and wait for
// it at most 5 s.
type Documents struct {
	dir    string
	expiry time.Duration
	log    *slog.Logger
	step   func(string) // called before each change of the folder, for tests that end the process
}

// NewDocuments keeps documents in dir, an absolute path. The first Put creates the folder.
// expiry is how long a document waits for a session: this afternoon's session should not
// continue this morning's work. Damaged manifests are logged.
func NewDocuments(dir string, expiry time.Duration, log *slog.Logger) *Documents {
	return &Documents{
		dir:    dir,
		expiry: expiry,
		log:    log,
		step:   func(string) {},
	}
}

// ErrNoDocument means that there is no such document or channel.
var ErrNoDocument = errors.New("no such handoff document; 'sm documents' lists them")

// locked runs f on the manifest of a channel with the folder locked, and adds op to errors.
// Without a folder the manifest is empty and the store is nil.
func (d *Documents) locked(op, channel string, f func(*store, *manifest) error) error {
	err := d.with(func(s *store) error {
		m, err := s.load(channel)
		if err != nil {
			return err
		}
		return f(s, m)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// check returns why a document cannot be stored.
func (d *Document) check() error {
	names := d.Channel + d.Agent + d.SessionID + d.WorkingDir + d.Path
	switch {
	case d.Channel == "" || d.Agent == "":
		return errors.New("a handoff document needs a channel and an agent; name both")
	case !utf8.ValidString(d.Channel+d.Agent) || len(names) > maxNames:
		return errors.New("the names of a handoff document are too long or not UTF-8; give plain ones")
	case !utf8.ValidString(d.Body) || len(d.Body) > maxBody:
		return fmt.Errorf("a handoff document is UTF-8 of at most %d bytes; shorten it, or write it anew",
			maxBody)
	}
	return nil
}

// Put stores a document. It becomes the channel's current one and replaces its agent's. With
// ClaimedBy a handoff is about to run with it, and only that agent gets it; with Executed its
// context gets it again after a compaction.
func (d *Documents) Put(doc Document, now time.Time) (Document, error) {
	if err := doc.check(); err != nil {
		return Document{}, err
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return Document{}, fmt.Errorf("%w; set handoff.directory to another", err)
	}
	err := d.locked("put handoff document", doc.Channel, func(s *store, m *manifest) error {
		doc.ID = documentID(doc.SessionID, now, m.ids())
		doc.CreatedAt = second(now)
		doc.Status = StatusActive
		switch {
		case doc.Executed:
			doc.claim(Claimant{
				Agent:     doc.Agent,
				SessionID: doc.SessionID,
				PID:       doc.CreatedByPID,
			}, now)
		case doc.ClaimedBy != "":
			doc.ClaimedAt = doc.CreatedAt
		}

		m.Current = entryOf(doc)
		set(&m.Agents, doc.Agent, doc)
		if doc.Executed {
			set(&m.Executed, doc.Agent, doc)
		}
		m.prune(now, s.expiry)
		doc = s.document(m, m.Current)
		return s.commit(m, doc)
	})
	if err != nil {
		return Document{}, err
	}
	return doc, nil
}

// second is a time as the manifest holds it.
func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
