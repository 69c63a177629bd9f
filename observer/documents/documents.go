// Package documents stores handoff documents: it copies a handoff's file, or
// generates a document from the transcript, and finds the document for a new session.
//
// It works on files outside the observer's loop, so that a slow disk delays only the
// caller. A file is checked before a byte of it is kept. Package handoff decides where
// documents are stored, and what is valid.
package documents

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"

	"sm/handoff"
	"sm/handoff/rotation"
)

// Options are the settings.
type Options struct {
	// Documents is where documents are, nil for no handoffs; Channels are those configured.
	Documents *handoff.Documents
	Channels  []handoff.Channel
	// DocumentBytes limits a document, Characters the part of it that a new session gets, in UTF-16 units.
	DocumentBytes int64
	Characters    int
}

// Keeper keeps documents.
type Keeper struct {
	Options func() Options // of now
	Log     *slog.Logger
}

// Store is where the documents are, nil for no handoffs.
func (d *Keeper) Store() *handoff.Documents { return d.Options().Documents }

// Channel is the channel to which a folder belongs.
func (d *Keeper) Channel(dir string) handoff.Channel {
	return handoff.ChannelOf(d.Options().Channels, dir)
}

// Source is what a document is made of: the transcript and the process of the agent's client, and the files to name.
type Source struct {
	Transcript string
	PID        int
	Reread     []string
}

// Keep keeps a copy of what a handoff hands over, unless there is one, and gives the time when the file was last written.
// A document of its own is for the agent alone; any other is for the next session of its project.
func (d *Keeper) Keep(
	r *rotation.Rotation,
	from Source,
	own bool,
	now time.Time,
) (doc handoff.Document, written time.Time, err error) {
	n := handoff.NewDocument{
		Channel:    d.Channel(r.CWD).Name,
		Agent:      string(r.Agent),
		SessionID:  r.Left,
		PID:        from.PID,
		WorkingDir: r.CWD,
		Type:       handoff.Manual,
		Path:       r.Path,
		Reserved:   own,
	}
	if r.Auto() {
		n.Type = handoff.Auto
		if n.Body, err = recentOf(from.Transcript, &n, from.Reread, now); err != nil {
			return doc, written, err
		}
	} else {
		f, err := handoff.Examine(r.Path, r.Since, d.Options().DocumentBytes)
		if err != nil {
			return doc, written, err
		}
		if own && r.Document != "" && f.Modified.Equal(r.Written) { // as it was when the terminal refused
			return handoff.Document{
				ID:      r.Document,
				Channel: r.Channel,
				Path:    r.Path,
				File:    d.Store().File(r.Document),
			}, r.Written, nil
		}
		n.Body = string(f.Content)
		written = f.Modified
	}
	doc, err = d.Store().Put(n, now)
	return doc, written, err
}

// ErrNotPlain means that a document has no name that may be typed.
var ErrNotPlain = errors.New("its name has characters with a meaning in a shell, and so has handoff.directory; " +
	"write the document under a plain name")

// Reason is the word for a document that cannot be handed over.
func Reason(err error) string {
	e, ok := errors.AsType[*handoff.FileError](err)
	switch {
	case ok && e.Reason == handoff.FileMissing:
		return rotation.ReasonFileGone
	case ok:
		return "file_" + string(e.Reason)
	case errors.Is(err, ErrNotPlain):
		return rotation.ReasonNotPlain
	}
	return "document_not_stored"
}

// recentOf makes a document of what was said last in a transcript.
func recentOf(path string, n *handoff.NewDocument, reread []string, now time.Time) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a hook may name anything
	if err != nil {
		return "", fmt.Errorf("make a handoff document: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return "", fmt.Errorf("make a handoff document: %w", err)
	}
	recent, err := handoff.Recent(f, info.Size())
	if err != nil {
		return "", fmt.Errorf("make a handoff document: %w", err)
	}
	return handoff.AutoDocument(handoff.Summary{
		At:         now,
		Project:    n.WorkingDir,
		Channel:    n.Channel,
		SessionID:  n.SessionID,
		Transcript: path,
		Recent:     recent,
		Reread:     reread,
	}), nil
}

// Request is what a hook needs of the documents.
type Request struct {
	Claimant handoff.Claimant
	// Last asks for the newest document that was handed over, whatever became of it; else one that waits is claimed.
	Last bool
	// Keep asks for New to be made before a compaction: of Own, the handoff that the agent has asked for by itself, if its
	// file is fit, else of the transcript at Path. Nothing is given back then.
	Keep bool
	New  handoff.NewDocument
	Path string
	Own  rotation.Rotation
	// Reread are files that a document made of the transcript names.
	Reread []string
}

// bodyOf fills in the document that is kept before a compaction: the agent's own, if it is fit, else one of the
// transcript.
func (d *Keeper) bodyOf(x *Request, now time.Time) (err error) {
	if x.Own.Path != "" {
		f, err := handoff.Examine(x.Own.Path, x.Own.Since, d.Options().DocumentBytes)
		if err == nil {
			x.New.Type, x.New.Path, x.New.Body = handoff.Manual, x.Own.Path, string(f.Content)
			return nil
		}
		d.Log.Warn(
			"an agent's own document is not fit; one is made of its transcript",
			"agent", x.New.Agent,
			"err", err,
		)
	}
	x.New.Body, err = recentOf(x.Path, &x.New, x.Reread, now)
	return err
}

// Answer returns the text for a new session, "" for none, or keeps what a compaction
// is about to drop. free reports whether the owner of a document has no running client.
func (d *Keeper) Answer(x *Request, now time.Time, free func(owner string) bool) string {
	docs := d.Store()
	if x.Keep {
		err := d.bodyOf(x, now)
		if err == nil {
			_, err = docs.Put(x.New, now)
		}
		if err != nil {
			d.Log.Warn("no document was made before a compaction", "agent", x.New.Agent, "err", err)
		}
		return ""
	}
	var doc handoff.Document
	var ok bool
	var err error
	if x.Last {
		doc, ok, err = docs.Last(x.Claimant.Channel.Name, x.Claimant.Agent, now)
	} else {
		doc, ok, err = docs.Claim(x.Claimant, now, free)
	}
	if err != nil {
		d.Log.Warn("a session starts without its document", "agent", x.Claimant.Agent, "err", err)
	}
	if !ok || err != nil {
		return ""
	}
	d.Log.Info("document given", "agent", x.Claimant.Agent, "id", doc.ID, "session", x.Claimant.SessionID)
	return handoff.Inject(doc, d.Options().Characters, now)
}
