package observer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sm/alerts"
	"sm/handoff"
	"sm/handoff/rotation"
	"sm/observer/api"
	"sm/observer/curve"
	"sm/transcript/claude/hook"
)

// Documents are files. They are read and written outside the loop, so that a
// slow disk delays only the caller.

func (a *App) handoffs() *HandoffOptions { return &a.settings.Load().Handoff }

// channel returns the channel of a folder's documents.
func (c *core) channel(dir string) handoff.Channel {
	return handoff.ChannelOf(c.settings.Handoff.Channels, dir)
}

// A draft is a document to be stored: the file of a handoff if the handoff
// names one, otherwise a summary of the transcript.
type draft struct {
	handoff.Document
	rotation   rotation.Rotation
	transcript string
	reread     []string  // files that the summary names
	written    time.Time // modification time of the file, set by put
}

// draft returns the draft of a handoff's document.
func (c *core) draft(r rotation.Rotation) *draft {
	s := c.fleet.Location(r.Agent)
	return &draft{
		Document: handoff.Document{
			Channel:      c.channel(r.CWD).Name,
			Agent:        r.Agent,
			SessionID:    r.Left,
			CreatedByPID: s.At.PID,
			WorkingDir:   r.CWD,
		},
		rotation:   r,
		transcript: s.Path,
		reread:     c.reread(r.Agent, time.Now()),
	}
}

// put stores a document. A document that is reserved for its agent is not
// stored again while its file is unchanged.
func (a *App) put(d *draft, now time.Time) (doc handoff.Document, err error) {
	o := a.handoffs()
	d.Path = d.rotation.Path
	if d.Path == "" {
		d.Type = handoff.Auto
		d.Body, err = d.recent(now)
	} else {
		d.Type = handoff.Manual
		var f handoff.File
		f, err = handoff.Examine(d.Path, d.rotation.Since, o.DocumentBytes)
		d.Body = string(f.Content)
		d.written = f.Modified
	}
	if err != nil {
		return doc, err
	}
	if r := &d.rotation; d.ClaimedBy != "" && r.Document != "" && !r.Auto() &&
		d.written.Equal(r.Written) {
		return handoff.Document{
			ID:      r.Document,
			Channel: r.Channel,
			Path:    r.Path,
			Body:    d.Body,
		}, nil
	}
	return o.Documents.Put(d.Document, now)
}

// recent returns a document with the newest texts of the transcript.
func (d *draft) recent(now time.Time) (string, error) {
	f, size, err := curve.Open(d.transcript)
	if err != nil {
		return "", fmt.Errorf("make a handoff document: %w", err)
	}
	defer f.Close()
	texts, err := handoff.Recent(f, size)
	if err != nil {
		return "", fmt.Errorf("make a handoff document: %w", err)
	}
	return handoff.AutoDocument(handoff.Summary{
		At:         now,
		Project:    d.WorkingDir,
		Channel:    d.Channel,
		SessionID:  d.SessionID,
		Transcript: d.transcript,
		Recent:     texts,
		Reread:     d.reread,
	}), nil
}

// errNotPlain means that neither a document's path nor the path of its copy may
// be typed.
var errNotPlain = errors.New("its name holds characters that mean something to a shell, and so does handoff.directory; write the document under a plain name")

// documentReason returns the rotation's reason for a document that cannot be
// handed over.
func documentReason(err error) string {
	reason, ok := errors.AsType[handoff.FileReason](err)
	switch {
	case reason == handoff.FileMissing:
		return rotation.ReasonFileGone
	case ok:
		return "file_" + reason.Word()
	case errors.Is(err, errNotPlain):
		return rotation.ReasonNotPlain
	}
	return "document_not_stored"
}

// prepare checks or creates a handoff's document, and stores a copy.
func (c *core) prepare(r rotation.Rotation) {
	a := c.app
	d := c.draft(r)
	d.ClaimedBy = d.Agent
	c.effect(func(context.Context) outcome {
		now := time.Now()
		doc, err := a.put(d, now)
		in := rotation.Prepared{
			ID:       r.ID,
			Document: doc.ID,
			Channel:  doc.Channel,
			Read:     doc.Path,
			Written:  d.written,
			At:       now,
		}
		if r.Auto() {
			in.Read = doc.File
		}
		if err == nil && r.Way != rotation.WayRestart &&
			!alerts.Plain(in.Read) { // it is typed
			in.Plain = doc.File
			if !alerts.Plain(doc.File) {
				err = errNotPlain
			}
		}
		if err != nil {
			a.log.Warn(
				"the document of a handoff is not fit",
				"agent", r.Agent,
				"id", r.ID,
				"err", err,
			)
			in.Reason = documentReason(err)
		}
		return func(c *core, now time.Time) {
			r := c.rotations.Find(r.ID)
			if r.State == rotation.Reserved && in.Reason == "" {
				in.Messages = c.carried(&r, now)
			}
			c.rotate(in)
		}
	})
}

// fit checks that a file is a valid document and that its path can be typed.
func (a *App) fit(r *rotation.Rotation) error {
	o := a.handoffs()
	text := o.Rotations.Resume(r.Path)
	if a.o.Sanitise(text) != text || !strings.Contains(text, r.Path) {
		return refuse(http.StatusUnprocessableEntity, fmt.Sprintf(
			"%q cannot be typed into a terminal as it is; write the document under a short and plain name", r.Path))
	}
	if _, err := handoff.Examine(r.Path, r.Since, o.DocumentBytes); err != nil {
		return refuse(http.StatusUnprocessableEntity, err.Error())
	}
	return nil
}

// documentRequest is what a hook needs from the documents.
type documentRequest struct {
	handoff.Claimant
	// last requests the newest document that was handed over, in any state;
	// otherwise a waiting document is claimed.
	last bool
	// keep, if not nil, is stored before a compaction, and no document is
	// returned. It is the file of the handoff that the agent has requested by
	// itself, if that is valid.
	keep *draft
}

// documentsFor returns the request of a hook to the documents, or nil. A
// session that a handoff begins gets its document by its prompt.
func (c *core) documentsFor(agent string, p *hook.Payload) *documentRequest {
	if c.dryRun || agent == "" {
		return nil
	}
	s := c.fleet.Location(agent)
	dir := cmp.Or(p.SM.Project, s.Project, p.CWD)
	switch {
	case p.Event == hook.PreCompact && c.settings.Handoff.AutoDocument:
		// The last handoff that the agent has requested in this cycle and that
		// was not carried out.
		var r rotation.Rotation
		opened := c.engine.Agent(agent).Opened
		for _, x := range c.rotations.All() { // the oldest first
			if x.Agent == agent && !x.Auto() && x.State != rotation.Confirmed &&
				!x.Made.Before(opened) {
				r = x
			}
		}
		r.Agent = agent
		r.Left = p.SessionID
		r.CWD = dir
		d := c.draft(r)
		d.Executed = true
		d.transcript = cmp.Or(d.transcript, p.TranscriptPath)
		return &documentRequest{
			Claimant: handoff.Claimant{Agent: agent},
			keep:     d,
		}
	case p.Event != hook.SessionStart:
		return nil
	}
	if c.rotations.Open(agent).State != rotation.Scheduled { // a handoff is being carried out
		return nil
	}
	return &documentRequest{
		Claimant: handoff.Claimant{
			Channel:   c.channel(dir),
			Agent:     agent,
			SessionID: p.SessionID,
			PID:       s.At.PID,
		},
		last: p.Source == "compact",
	}
}

// answerDocument returns the text for a new session, "" for none, or stores the
// document that is kept before a compaction.
func (a *App) answerDocument(ctx context.Context, x *documentRequest, now time.Time) string {
	o := a.handoffs()
	var doc handoff.Document
	var ok bool
	var err error
	switch {
	case x.keep != nil:
		_, err = a.put(x.keep, now)
		if err != nil && x.keep.rotation.Path != "" {
			a.log.Warn("an agent's own document is not fit; one is made of its transcript",
				"agent", x.keep.Agent, "err", err)
			x.keep.rotation.Path = ""
			_, err = a.put(x.keep, now)
		}
	case x.last:
		doc, ok, err = o.Documents.Last(x.Channel.Name, x.Agent)
	default:
		doc, ok, err = o.Documents.Claim(x.Claimant, now, func(owner string) (free bool) {
			// An owner without a running client does not need it any more. An
			// error means that the observer is stopping.
			_ = a.do(ctx, func(c *core) {
				free = owner != "" &&
					(c.fleet.Location(owner).At.PID == 0 || c.fleet.Gone(owner))
			})
			return free
		})
	}
	if err != nil {
		a.log.Warn(
			"a session gets no document, or one is not kept before a compaction",
			"agent", cmp.Or(x.Agent, x.SessionID),
			"err", err,
		)
	}
	if !ok || err != nil {
		return ""
	}
	a.log.Info(
		"document given",
		"agent", x.Agent,
		"id", doc.ID,
		"session", x.SessionID,
	)
	return handoff.Inject(doc, o.Characters, now)
}

// onDocuments runs f outside the loop and logs its error with the message
// failure.
func (c *core) onDocuments(failure string, f func(*handoff.Documents) error) {
	a := c.app
	c.effect(func(context.Context) outcome {
		if err := f(a.handoffs().Documents); err != nil {
			a.log.Warn(failure, "err", err)
		}
		return nil
	})
}

// consume marks a document as read.
func (c *core) consume(channel, document, session string, pid int) {
	if document == "" {
		return
	}
	c.onDocuments("a document cannot be marked as read", func(d *handoff.Documents) error {
		err := d.Consume(channel, document, session, pid, time.Now())
		if errors.Is(err, handoff.ErrNoDocument) {
			return nil
		}
		return err
	})
}

// withdraw clears the copy of a document whose handoff did not run.
func (c *core) withdraw(r rotation.Rotation) {
	c.onDocuments(
		"the copy of a document that is not needed cannot be withdrawn",
		func(d *handoff.Documents) error { return d.Withdraw(r.Channel, r.Document) },
	)
}

// getDocuments lists the handoff documents of all channels.
func (a *App) getDocuments(w http.ResponseWriter, _ *http.Request) error {
	all, err := a.handoffs().Documents.List(time.Now())
	answer := api.Documents{Documents: append([]handoff.Document{}, all...)}
	if err != nil {
		answer.Problem = err.Error()
	}
	return writeJSON(w, http.StatusOK, answer)
}

// getDocument returns the current document of a channel, with its text.
func (a *App) getDocument(w http.ResponseWriter, r *http.Request) error {
	channel := r.PathValue("channel")
	doc, ok, err := a.handoffs().Documents.Current(channel)
	if err != nil {
		return err
	}
	if !ok {
		return refuse(http.StatusNotFound,
			fmt.Sprintf("channel %q has no handoff document; 'sm documents' lists them", channel))
	}
	return writeJSON(w, http.StatusOK, api.WholeDocument{Document: doc, Body: doc.Body})
}

// deleteDocuments withdraws the waiting documents of a channel.
func (a *App) deleteDocuments(w http.ResponseWriter, r *http.Request) error {
	n, err := a.handoffs().Documents.Clear(r.PathValue("channel"), time.Now())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, api.Cleared{Cleared: n})
}
