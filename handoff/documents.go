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
	// maxBody limits a document, in bytes. The configuration allows no larger
	// limit.
	maxBody = 16 << 20
	// maxNames limits the other fields of a document together, in bytes.
	maxNames = 32 << 10
	// maxFile limits the file of a document, which begins with comments.
	maxFile = maxBody + 2*maxNames
)

// Documents are the documents in one folder:
//
//	{channel}.manifest.json   the list, with statuses
//	{channel}-{id}.md         a document that is in the list
//
// Characters that cannot be in file names are written as %XX; long names end in
// a hash. Any number of goroutines and processes may use one folder: functions
// lock it, and wait for the lock for at most 5 s.
type Documents struct {
	dir    string
	expiry time.Duration
	log    *slog.Logger
	step   func(string) // called before each change of the folder, for tests that end the process
}

// NewDocuments returns the documents in dir, an absolute path. The first Put
// creates the folder. expiry is how long a document waits for a session: a
// session in the afternoon should not continue the morning's work. Damaged
// manifests are logged.
func NewDocuments(dir string, expiry time.Duration, log *slog.Logger) *Documents {
	return &Documents{
		dir:    dir,
		expiry: expiry,
		log:    log,
		step:   func(string) {},
	}
}

// ErrNoDocument means that the document or channel does not exist.
var ErrNoDocument = errors.New("no such handoff document; 'sm documents' lists them")

// locked runs f on the manifest of a channel with the folder locked, and adds
// op to errors. If the folder does not exist, the manifest is empty and the
// store is nil.
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

// check returns an error if a document cannot be stored.
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

// Put stores a document, as the channel's current one and in place of its
// agent's previous one. A document with ClaimedBy is for a handoff that is
// about to run, and only that agent gets it; with Executed the agent's new
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

// second returns a time as the manifest stores it.
func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
