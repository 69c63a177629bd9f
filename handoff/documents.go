package handoff

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"
	"unicode/utf8"
)

// DefaultExpiry is how long a document waits for a session: this afternoon's session should not
// continue this morning's work.
const DefaultExpiry = 2 * time.Hour

const (
	// maxBody limits a document, in bytes; the configuration allows no larger ones.
	maxBody = 16 << 20
	// maxFile limits its file, which begins with comments with two paths at most.
	maxFile = maxBody + 64<<10
)

// Documents are the documents in one folder:
//
//	{channel}.manifest.json         the list, with statuses
//	{channel}-CURRENT.md            the newest document
//	{channel}-{agent}.md            the newest one of an agent, or the one it claimed
//	{channel}-{agent}~executed.md   that of its last handoff, or the last one it got
//
// Characters that cannot be in file names are written as %XX; long names end in a hash. Any
// number of goroutines and processes may use one folder: functions hold its lock and wait for
// it at most 5 s (ErrLocked).
type Documents struct {
	dir    string
	expiry time.Duration
	log    *slog.Logger
	step   func(string) // for tests that end the process here; nil for none
}

// NewDocuments keeps documents in dir, an absolute path. The first Put creates the folder. An
// expiry of 0 is DefaultExpiry. Damaged manifests are logged; log may be nil.
func NewDocuments(dir string, expiry time.Duration, log *slog.Logger) *Documents {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Documents{dir: dir, expiry: cmp.Or(expiry, DefaultExpiry), log: log}
}

// ErrNoDocument means that there is no such document or channel.
var ErrNoDocument = errors.New("no such handoff document; 'sm documents' lists them")

// ErrOtherSession means that the document was given to another session since.
var ErrOtherSession = errors.New("another session was given this handoff document; it will report that itself")

// RejectedError means that a document is not given because its file does not match the
// manifest.
type RejectedError struct {
	Channel string
	ID      string // in the manifest
	Found   string // the id in the file, if there is one
	File    string
	Err     error // why there is none
}

func (e *RejectedError) Error() string {
	what := "holds " + quoted(e.Found)
	if e.Err != nil {
		what = "cannot be read (" + e.Err.Error() + ")"
	}
	return fmt.Sprintf("handoff document %s of channel %s is rejected: %s %s; see to the file, or run sm documents clear",
		quoted(e.ID), quoted(e.Channel), quoted(e.File), what)
}

func (e *RejectedError) Unwrap() error { return e.Err }

// NewDocument is a document for Put.
type NewDocument struct {
	Channel    string
	Agent      string // hands over, and gets it again
	SessionID  string // of the agent's client
	PID        int    // likewise
	WorkingDir string
	Type       DocumentType
	Path       string // the file that the agent wrote, if any
	Reserved   bool   // a handoff is about to run with it: only Agent gets it
	Executed   bool   // and Agent's context gets it again after a compaction
	Body       string
}

// maxNames limits all fields but the body together, in bytes.
const maxNames = 32 << 10

func (n *NewDocument) namesLength() int {
	return len(n.Channel) + len(n.Agent) + len(n.SessionID) + len(n.WorkingDir) + len(n.Path) + len(n.Type)
}

// with runs f with the folder locked. Without create and without a folder it returns
// errNoFolder.
func (d *Documents) with(create bool, f func(*store) error) error {
	s, err := openStore(d.dir, create, d.log)
	if err != nil {
		return err
	}
	defer s.close()
	if d.step != nil {
		s.step = d.step
	}
	return f(s)
}

// locked runs f on the manifest of a channel with the folder locked, and adds op to errors.
// Without a folder it returns the error absent.
func (d *Documents) locked(
	op, channel string,
	now time.Time,
	absent error,
	f func(*store, *manifest) error,
) error {
	err := d.with(false, func(s *store) error {
		m, err := s.load(channel, now)
		if err != nil {
			return err
		}
		return f(s, m)
	})
	if errors.Is(err, errNoFolder) {
		err = absent
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// check returns why a document cannot be stored.
func (n *NewDocument) check() error {
	switch {
	case n.Channel == "" || n.Agent == "":
		return errors.New("a handoff document needs a channel and an agent; name both")
	case !utf8.ValidString(n.Channel) || !utf8.ValidString(n.Agent) ||
		n.namesLength() > maxNames:
		return errors.New("the names of a handoff document are too long or not UTF-8; give plain ones")
	case len(n.Body) > maxBody:
		return fmt.Errorf(
			"the handoff document has %d bytes and the limit is %d; shorten it",
			len(n.Body),
			maxBody,
		)
	case !utf8.ValidString(n.Body):
		return errors.New("the handoff document is not UTF-8; write it anew")
	}
	return nil
}

// Put stores a document. It becomes the channel's current one and replaces its agent's.
func (d *Documents) Put(n NewDocument, now time.Time) (doc Document, err error) {
	if err := n.check(); err != nil {
		return doc, err
	}
	err = d.with(true, func(s *store) error {
		m, err := s.load(n.Channel, now)
		if err != nil {
			return err
		}
		doc = Document{
			ID:           documentID(n.SessionID, now, m.ids()),
			SessionID:    n.SessionID,
			Agent:        n.Agent,
			CreatedAt:    now.UTC().Truncate(time.Second),
			CreatedByPID: n.PID,
			WorkingDir:   n.WorkingDir,
			Type:         n.Type,
			Status:       StatusActive,
			Path:         n.Path,
			Executed:     n.Executed,
		}
		if n.Reserved {
			doc.ClaimedBy = n.Agent
			doc.ClaimedAt = doc.CreatedAt
		}
		if n.Executed {
			doc.claim(Claimant{Agent: n.Agent, SessionID: n.SessionID, PID: n.PID}, now)
		}
		m.Current = &entry{Document: doc}
		m.set(&m.Agents, n.Agent, doc)
		doc.Channel = n.Channel
		doc.Body = n.Body
		text := doc.header() + n.Body
		files := map[string]string{currentFile(n.Channel): text}
		doc.File = s.place(files, &doc, n.Agent, "", text)
		if n.Executed {
			stored := doc
			m.set(&m.Executed, n.Agent, stored)
			s.place(files, &doc, n.Agent, executedMark, text)
		}
		s.removeExpired(m, now, d.expiry)
		return s.commit(m, files)
	})
	if err != nil {
		return Document{}, fmt.Errorf("put handoff document: %w", err)
	}
	doc.Current = true
	return doc, nil
}

// set puts a document into one of the manifest's lists.
func (m *manifest) set(list *map[string]*entry, agent string, d Document) {
	if *list == nil {
		*list = map[string]*entry{}
	}
	(*list)[agent] = &entry{Document: d}
}

// body reads an entry's document from the first of the files that holds it.
func (s *store) body(channel string, e *entry, homes ...string) (Document, error) {
	var names []string
	for _, home := range homes {
		if home == "" {
			names = append(names, currentFile(channel))
		} else {
			names = append(names, agentFile(channel, home, ""), besides(channel, home, ""))
		}
	}
	return s.firstOf(channel, e, names...)
}

func (s *store) firstOf(channel string, e *entry, names ...string) (Document, error) {
	var why *RejectedError
	for _, name := range names {
		doc, rejected := s.file(channel, e, name)
		if rejected == nil {
			return doc, nil
		}
		if why == nil || why.Found == "" && rejected.Found != "" {
			why = rejected // a file with another document is the better explanation
		}
	}
	return Document{}, why
}

// file reads an entry's document from a file, or returns why it is not in it.
func (s *store) file(channel string, e *entry, name string) (Document, *RejectedError) {
	rejected := &RejectedError{Channel: channel, ID: e.ID, File: filepath.Join(s.dir, name)}
	text, err := s.read(name, maxFile)
	if err != nil {
		rejected.Err = err
		return Document{}, rejected
	}
	id, of, body, err := parseFile(string(text))
	if err != nil || id != comment(e.ID) || of != "" && of != comment(channel) {
		rejected.Found = id
		rejected.Err = err
		return Document{}, rejected
	}
	doc := e.Document
	doc.Channel = channel
	doc.File = rejected.File
	doc.Body = body
	return doc, nil
}

// place adds a document to the files to be written, under the agent's name, and returns its
// path. A name that another channel uses is left to it.
func (s *store) place(files map[string]string, d *Document, agent, mark, text string) string {
	name := agentFile(d.Channel, agent, mark)
	for _, there := range []string{name, redoPrefix + name + redoSuffix} {
		if channel, ok := s.channelOf(there); ok && channel != comment(d.Channel) {
			name = besides(d.Channel, agent, mark)
			break
		}
	}
	files[name] = text
	return filepath.Join(s.dir, name)
}

// channelOf is the channel that a document's file names.
func (s *store) channelOf(name string) (channel string, ok bool) {
	text, err := s.read(name, maxFile)
	if err != nil {
		return "", false
	}
	_, channel, _, err = parseFile(string(text))
	return channel, err == nil && channel != ""
}

// removeExpired removes agents whose documents will not be given any more. It runs before the
// manifest is stored: after a kill they are found and removed again.
func (s *store) removeExpired(m *manifest, now time.Time, expiry time.Duration) {
	for _, agent := range m.prune(now, expiry) {
		for _, mark := range []string{"", executedMark} {
			for _, name := range []string{
				agentFile(m.Channel, agent, mark),
				besides(m.Channel, agent, mark),
			} {
				if channel, ok := s.channelOf(name); ok && channel == comment(m.Channel) {
					_ = s.root.Remove(name) // one that stays does no harm
				}
			}
		}
	}
}
