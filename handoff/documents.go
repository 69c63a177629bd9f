package handoff

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sm/handoff/files"
)

// DefaultExpiry is how long a document waits for a session: this afternoon's session should not
// continue this morning's work.
const DefaultExpiry = 2 * time.Hour

const (
	// maxBody limits a document, in bytes; the configuration allows no larger ones.
	maxBody = 16 << 20
	// maxFile limits its file, which begins with comments with two paths at most.
	maxFile = maxBody + 64<<10
	// maxNames limits all fields but the body together, in bytes.
	maxNames = 32 << 10
)

// Documents are the documents in one folder:
//
//	{channel}.manifest.json   the list, with statuses
//	{id}.md                   a document
//
// Any number of goroutines and processes may use one folder: functions hold its lock and wait
// for it at most 5 s (ErrLocked).
type Documents struct {
	dir    string
	expiry time.Duration
	log    *slog.Logger
}

// NewDocuments keeps documents in dir, an absolute path. The first Put creates the folder. An
// expiry of 0 is DefaultExpiry. Damaged manifests are logged; log may be nil.
func NewDocuments(dir string, expiry time.Duration, log *slog.Logger) *Documents {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Documents{dir: dir, expiry: cmp.Or(expiry, DefaultExpiry), log: log}
}

// File returns the path of the stored copy of a document. Its last element has only letters,
// digits, dashes and a dot.
func (d *Documents) File(id string) string { return fileOf(d.dir, id) }

// ErrNoDocument means that there is no such document or channel.
var ErrNoDocument = errors.New("no such handoff document; 'sm documents' lists them")

// ErrOtherSession means that the document was given to another session since.
var ErrOtherSession = errors.New("another session was given this handoff document; it will report that itself")

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

// check returns why a document cannot be stored.
func (n *NewDocument) check() error {
	names := []string{n.Channel, n.Agent, n.SessionID, n.WorkingDir, n.Path, string(n.Type)}
	all := strings.Join(names, "")
	switch {
	case n.Channel == "" || n.Agent == "":
		return errors.New("a handoff document needs a channel and an agent; name both")
	case !utf8.ValidString(all) || len(all) > maxNames:
		return errors.New("the names of a handoff document are too long or not UTF-8; give plain ones")
	case len(n.Body) > maxBody:
		return fmt.Errorf("the handoff document has %d bytes and the limit is %d; shorten it", len(n.Body), maxBody)
	case !utf8.ValidString(n.Body):
		return errors.New("the handoff document is not UTF-8; write it anew")
	}
	return nil
}

// Put stores a document. It becomes the channel's current one and replaces its agent's.
func (d *Documents) Put(n NewDocument, now time.Time) (doc Document, err error) {
	err = n.check()
	if err == nil {
		err = makeDir(d.dir)
	}
	if err != nil {
		return doc, fmt.Errorf("put handoff document: %w", err)
	}
	err = d.edit("put handoff document", n.Channel, now, func(root *os.Root, m *manifest) error {
		stored := &Document{
			ID: documentID(n.SessionID, now, func(id string) bool {
				_, err := os.Lstat(d.File(id))
				return err == nil || m.last(func(d *Document) bool { return d.follows(id) }) != nil
			}),
			SessionID:    n.SessionID,
			Agent:        n.Agent,
			CreatedAt:    second(now),
			CreatedByPID: n.PID,
			WorkingDir:   n.WorkingDir,
			Type:         n.Type,
			Status:       StatusActive,
			Path:         n.Path,
			Executed:     n.Executed,
		}
		if n.Reserved || n.Executed {
			stored.ClaimedBy = n.Agent
			stored.ClaimedAt = stored.CreatedAt
		}
		if n.Executed {
			stored.ClaimedBySession = n.SessionID
			stored.ClaimedByPID = n.PID
		}
		m.Documents = append(m.Documents, stored)
		m.prune(now)
		doc = d.described(m, stored)
		doc.Body = n.Body
		return files.Write(root, filepath.Base(doc.File), []byte(doc.header()+n.Body), 0o600)
	})
	if err != nil {
		return Document{}, err
	}
	return doc, nil
}

// described returns a document with the fields that are not stored, without its body.
func (d *Documents) described(m *manifest, stored *Document) Document {
	doc := *stored
	doc.Channel = m.Channel
	doc.File = d.File(doc.ID)
	doc.Current = stored == m.current()
	return doc
}

// read returns a document with its body.
func (d *Documents) read(m *manifest, stored *Document) (Document, error) {
	doc := d.described(m, stored)
	text, err := files.Read(doc.File, maxFile)
	body, ok := strings.CutPrefix(string(text), doc.header())
	if err == nil && !ok {
		err = errors.New("it does not begin with the comments of this document")
	}
	if err != nil {
		return Document{}, fmt.Errorf("handoff document %s is rejected: %w; see to the file, or run sm documents clear",
			quoted(doc.File), err)
	}
	doc.Body = body
	return doc, nil
}

// Claimant is a starting session that asks for a document.
type Claimant struct {
	Channel   Channel
	Agent     string
	SessionID string
	PID       int
}

// Claim gives a starting session (startup, resume, clear) its document, if there is one. It is
// the agent's own active document. An agent without any entry gets the channel's current one,
// if that is active, not claimed by another agent and from within the channel's path, and if
// the client of the agent that left it ("" for unknown) has ended, as free reports; with a nil
// free it has not. From then on the document is this agent's alone: its next session gets it
// again until it is consumed. Documents older than the expiry are marked as expired.
//
// After any error the session starts without a document. free is called with the documents
// locked and must not use them.
func (d *Documents) Claim(c Claimant, now time.Time, free func(agent string) bool) (doc Document, ok bool, err error) {
	if c.Agent == "" || c.Channel.Name == "" {
		return doc, false, errors.New("a handoff document is for an agent in a channel; name both")
	}
	err = d.edit("claim handoff document", c.Channel.Name, now, func(_ *os.Root, m *manifest) (err error) {
		found := m.of(c.Agent)
		if found == nil {
			found = m.unclaimed(c, free)
		}
		if found == nil || found.Status != StatusActive || found.ClaimedBy != "" && found.ClaimedBy != c.Agent {
			return nil
		}
		found.claim(c, now)
		doc, err = d.read(m, found)
		ok = err == nil
		return err
	})
	return doc, ok && err == nil, err
}

// unclaimed returns the current document if an agent without one may have it.
func (m *manifest) unclaimed(c Claimant, free func(string) bool) *Document {
	doc := m.current()
	if doc == nil || doc.ClaimedBy != "" || free == nil {
		return nil
	}
	if c.Channel.Path != "" && doc.WorkingDir != "" &&
		!within(filepath.Clean(doc.WorkingDir), filepath.Clean(c.Channel.Path)) {
		return nil // another project with the same name
	}
	if doc.Status != StatusActive || !free(doc.Agent) {
		return nil
	}
	return doc
}

// Consume records that a session's transcript has the document. A second time nothing changes,
// nor for a cleared document.
//
// It must be the session that was given the document last, else the error is ErrOtherSession.
// That does not hold for an executed one, which its agent gets in a new session.
func (d *Documents) Consume(channel, id, session string, pid int, now time.Time) error {
	return d.edit("consume handoff document", channel, now, func(_ *os.Root, m *manifest) error {
		doc := m.find(id)
		switch {
		case doc == nil:
			return fmt.Errorf("%s: %w", quoted(id), ErrNoDocument)
		case doc.Status == StatusConsumed || doc.Status == StatusCleared:
			return nil
		case !doc.Executed && doc.ClaimedBySession != "" && doc.ClaimedBySession != session:
			return fmt.Errorf("%s, read by session %s: %w", quoted(id), quoted(session), ErrOtherSession)
		}
		doc.Status = StatusConsumed
		doc.ConsumedByPID = pid
		doc.ConsumedBySession = session
		doc.ConsumedAt = second(now)
		return nil
	})
}

// Withdraw clears an active document whose handoff has not run.
func (d *Documents) Withdraw(channel, id string, now time.Time) error {
	return d.edit("withdraw handoff document", channel, now, func(_ *os.Root, m *manifest) error {
		if doc := m.find(id); doc != nil && doc.Status == StatusActive && !doc.Executed {
			doc.Status = StatusCleared
		}
		return nil
	})
}

// Last returns, for a session whose context was compacted, the document of the agent's last
// handoff or the last one it got, of any age, unless it was cleared.
func (d *Documents) Last(channel, agent string, now time.Time) (doc Document, ok bool, err error) {
	return d.show(channel, now, func(m *manifest) *Document {
		return m.last(func(doc *Document) bool {
			return doc.owner() == agent && doc.handedOver() && doc.Status != StatusCleared
		})
	})
}

// Current returns the channel's newest document, whatever its status.
func (d *Documents) Current(channel string, now time.Time) (doc Document, ok bool, err error) {
	return d.show(channel, now, (*manifest).current)
}

func (d *Documents) show(
	channel string, now time.Time, choose func(*manifest) *Document,
) (doc Document, ok bool, err error) {
	err = d.edit("read handoff document", channel, now, func(_ *os.Root, m *manifest) (err error) {
		if found := choose(m); found != nil {
			doc, err = d.read(m, found)
			ok = err == nil
		}
		return err
	})
	return doc, ok, err
}

// Clear clears the channel's documents: none will be given, nor given again after a
// compaction. It returns how many were active. Without a manifest the error is ErrNoDocument.
func (d *Documents) Clear(channel string, now time.Time) (n int, err error) {
	err = d.edit("clear channel "+quoted(channel), channel, now, func(_ *os.Root, m *manifest) error {
		if len(m.Documents) == 0 {
			return ErrNoDocument
		}
		for _, doc := range m.Documents {
			if doc.Status == StatusActive {
				n++
			}
			if doc.Status == StatusActive || doc.handedOver() {
				doc.Status = StatusCleared
			}
		}
		return nil
	})
	return n, err
}

// List returns the documents of all channels, by channel, the newest first, without their
// bodies. It changes nothing. The error names what could not be read.
func (d *Documents) List(now time.Time) (all []Document, err error) {
	root, err := openDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list handoff documents: %w", err)
	}
	defer root.Close()
	paths, err := fs.Glob(root.FS(), "*.manifest.json")
	for _, path := range paths {
		m, unread := d.manifestAt(path)
		if unread != nil {
			err = errors.Join(err, fmt.Errorf(
				"read %s: %w; a damaged one is set aside when its channel is used next", quoted(path), unread))
			continue
		}
		m.expire(now, d.expiry)
		for _, doc := range m.Documents {
			all = append(all, d.described(m, doc))
		}
	}
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

func (d *Documents) manifestAt(name string) (*manifest, error) {
	data, err := files.Read(filepath.Join(d.dir, name), maxManifest)
	if err != nil {
		return nil, err
	}
	return decodeManifest(data)
}
