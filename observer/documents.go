package observer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"sm/alerts"
	"sm/handoff"
	"sm/handoff/rotation"
	"sm/observer/respond"
	"sm/transcript/claude/hook"
	"sm/transcript/wording"
)

// Documents are files: they are read and written beside the loop, so that a slow
// disk delays only the caller.

func (a *App) handoffs() *HandoffOptions { return &a.settings.Load().Handoff }

// source is what a document is made of: the transcript and the process of the
// agent's client, and the files to name.
type source struct {
	transcript string
	pid        int
	reread     []string
}

// keep keeps a copy of what a handoff hands over, unless there is one, and returns
// the time when the file was last written. A document of its own is for the agent
// alone; any other is for the next session of its project.
func (a *App) keep(
	r *rotation.Rotation,
	from source,
	own bool,
	now time.Time,
) (doc handoff.Document, written time.Time, err error) {
	o := a.handoffs()
	n := handoff.NewDocument{
		Channel:    handoff.ChannelOf(o.Channels, r.CWD).Name,
		Agent:      string(r.Agent),
		SessionID:  r.Left,
		PID:        from.pid,
		WorkingDir: r.CWD,
		Type:       handoff.Manual,
		Path:       r.Path,
		Reserved:   own,
	}
	if r.Auto() {
		n.Type = handoff.Auto
		if n.Body, err = recentOf(from, &n, now); err != nil {
			return doc, written, err
		}
	} else {
		f, err := handoff.Examine(r.Path, r.Since, o.DocumentBytes)
		if err != nil {
			return doc, written, err
		}
		if own && r.Document != "" &&
			f.Modified.Equal(r.Written) { // as it was when the terminal refused
			return handoff.Document{
				ID:      r.Document,
				Channel: r.Channel,
				Path:    r.Path,
				Body:    string(f.Content),
			}, r.Written, nil
		}
		n.Body = string(f.Content)
		written = f.Modified
	}
	doc, err = o.Documents.Put(n, now)
	return doc, written, err
}

// documentReason is the word for a document that cannot be handed over.
func documentReason(err error) string {
	e, ok := errors.AsType[*handoff.FileError](err)
	switch {
	case ok && e.Reason == handoff.FileMissing:
		return rotation.ReasonFileGone
	case ok:
		return "file_" + string(e.Reason)
	case errors.Is(err, handoff.ErrNotPlain):
		return rotation.ReasonNotPlain
	}
	return "document_not_stored"
}

// recentOf makes a document of the newest texts of a transcript.
func recentOf(from source, n *handoff.NewDocument, now time.Time) (string, error) {
	f, err := os.OpenFile(
		from.transcript,
		os.O_RDONLY|syscall.O_NONBLOCK,
		0,
	) // a hook may name anything
	if err != nil {
		return "", fmt.Errorf("make a handoff document: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", from.transcript)
	}
	var recent []handoff.Message
	if err == nil {
		recent, err = handoff.Recent(f, info.Size(), handoff.Limits{})
	}
	if err != nil {
		return "", fmt.Errorf("make a handoff document: %w", err)
	}
	return handoff.AutoDocument(handoff.Summary{
		At:         now,
		Project:    n.WorkingDir,
		Channel:    n.Channel,
		SessionID:  n.SessionID,
		Transcript: from.transcript,
		Recent:     recent,
		Reread:     from.reread,
	}), nil
}

// prepare looks at a handoff's document, or makes it, and keeps a copy.
func (c *core) prepare(r rotation.Rotation) {
	s, _ := c.fleet.Location(r.Agent)
	from := source{transcript: s.Path, pid: s.At.PID}
	if r.Auto() { // a document of the agent is not changed
		from.reread = c.reread(r.Agent, time.Now())
	}
	a := c.app
	c.effect(func(context.Context) func(*core, time.Time) {
		doc, written, err := a.keep(&r, from, true, time.Now())
		now := time.Now()
		in := rotation.Prepared{
			ID:       r.ID,
			Document: doc.ID,
			Channel:  doc.Channel,
			Read:     doc.Path,
			Written:  written,
			At:       now,
		}
		if r.Auto() {
			in.Read = doc.File
		}
		if err == nil && r.Way != rotation.WayRestart &&
			!alerts.Plain(in.Read) { // it is typed
			in.Plain, err = a.handoffs().Documents.Plain(string(in.ID), doc.Body, now)
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
			if r, known := c.rotations.Find(in.ID); known && r.State == rotation.Reserved &&
				in.Reason == "" {
				in.Messages = c.carried(&r, now)
			}
			c.rotate(in, now)
		}
	})
}

// leave keeps the document of an agent whose client has ended before its handoff:
// it is for its next session, or a new agent in the same project.
func (c *core) leave(r rotation.Rotation) {
	a := c.app
	c.effect(func(context.Context) func(*core, time.Time) {
		if _, _, err := a.keep(&r, source{}, false, time.Now()); err != nil {
			a.log.Warn(
				"the document of an agent that has ended is not kept",
				"agent", r.Agent,
				"err", err,
			)
		}
		return nil
	})
}

// sweepEffect removes old copies of documents under plain names.
type sweepEffect struct{}

// fitWithin is how long a file may take to be looked at while its agent waits.
const fitWithin = 3 * time.Second

// fit checks that a file may be handed over and its path typed.
func (a *App) fit(ctx context.Context, r *rotation.Rotation) error {
	o := a.handoffs()
	if o.Documents == nil {
		return respond.ErrNoWay
	}
	prompt := rotation.UsualPrompt
	if o.Rotations.Resume != nil {
		prompt = o.Rotations.Resume
	}
	if text := prompt(r.Path); a.o.Sanitise(text) != text || !strings.Contains(text, r.Path) {
		return respond.Refuse(http.StatusUnprocessableEntity, fmt.Sprintf(
			"%q cannot be typed into a terminal as it is; write the document under a short and plain name", r.Path))
	}
	ctx, cancel := context.WithTimeout(ctx, fitWithin)
	defer cancel()
	looked := make(chan error, 1)
	go func() { // it ends when the file system answers, which may be never
		_, err := handoff.Examine(r.Path, r.Since, o.DocumentBytes)
		looked <- err
	}()
	select {
	case err := <-looked:
		if err != nil {
			return respond.With(http.StatusUnprocessableEntity, err)
		}
		return nil
	case <-ctx.Done():
		return respond.Refuse(http.StatusUnprocessableEntity,
			"the file system does not answer; write the document elsewhere")
	}
}

// documentRequest is what a hook needs of the documents.
type documentRequest struct {
	claimant handoff.Claimant
	// last asks for the newest document that was handed over, whatever became of it;
	// else one that waits is claimed.
	last bool
	// keep asks for a document before a compaction: own, the handoff that the agent has
	// asked for by itself, if its file is fit, else one of the transcript. Nothing is
	// given back then.
	keep bool
	new  handoff.NewDocument
	own  rotation.Rotation
	from source
}

// documentsFor returns what a hook needs from the documents, or nil. A session
// that a handoff begins gets its document by its prompt.
func (c *core) documentsFor(agent alerts.AgentID, p *hook.Payload) *documentRequest {
	if c.settings.Handoff.Documents == nil || c.dryRun || agent == "" || p.Subagent() {
		return nil
	}
	s, _ := c.fleet.Location(agent)
	dir := cmp.Or(p.SM.Project, s.Project, p.CWD)
	channel := handoff.ChannelOf(c.settings.Handoff.Channels, dir)
	x := &documentRequest{
		claimant: handoff.Claimant{
			Channel:   channel,
			Agent:     string(agent),
			SessionID: p.SessionID,
			PID:       s.At.PID,
		},
		last: p.Source == "compact",
	}
	switch {
	case p.Event == hook.PreCompact && c.settings.Handoff.AutoDocument:
		x.keep = true
		x.new = handoff.NewDocument{
			Channel:    channel.Name,
			Agent:      string(agent),
			SessionID:  p.SessionID,
			PID:        s.At.PID,
			WorkingDir: dir,
			Type:       handoff.Auto,
			Executed:   true,
		}
		x.from = source{
			transcript: cmp.Or(s.Path, p.TranscriptPath),
			reread:     c.reread(agent, time.Now()),
		}
		x.own = c.written(agent)
		return x
	case p.Event != hook.SessionStart:
		return nil
	}
	if r, open := c.rotations.Open(agent); open && r.State != rotation.Scheduled {
		return nil
	}
	return x
}

// written is the last handoff that an agent has asked for in this cycle and that has not taken place, zero for none.
func (c *core) written(agent alerts.AgentID) (last rotation.Rotation) {
	v, _ := c.engine.Agent(agent)
	for _, r := range c.rotations.All() { // the oldest first
		if r.Agent == agent && !r.Auto() && r.State != rotation.Confirmed &&
			!r.Made.Before(v.Opened) {
			last = r
		}
	}
	return last
}

// answerDocument returns the text for a new session, "" for none, or keeps what a
// compaction is about to drop.
func (a *App) answerDocument(ctx context.Context, x *documentRequest, now time.Time) string {
	if x.keep {
		if err := a.keepBefore(x, now); err != nil {
			a.log.Warn(
				"no document was made before a compaction",
				"agent", x.new.Agent,
				"err", err,
			)
		}
		return ""
	}
	o := a.handoffs()
	var doc handoff.Document
	var ok bool
	var err error
	if x.last {
		doc, ok, err = o.Documents.Last(x.claimant.Channel.Name, x.claimant.Agent, now)
	} else {
		doc, ok, err = o.Documents.Claim(
			x.claimant,
			now,
			func(owner string) bool { return a.free(ctx, owner) },
		)
	}
	if err != nil {
		a.log.Warn(
			"a session starts without its document",
			"agent", x.claimant.Agent,
			"err", err,
		)
	}
	if !ok || err != nil {
		return ""
	}
	a.log.Info(
		"document given",
		"agent", x.claimant.Agent,
		"id", doc.ID,
		"session", x.claimant.SessionID,
	)
	return handoff.Inject(doc, o.Characters, now)
}

// keepBefore keeps the document of an agent that compacts: its own, if that is fit,
// else one of the transcript.
func (a *App) keepBefore(x *documentRequest, now time.Time) (err error) {
	o := a.handoffs()
	if x.own.Path != "" {
		f, err := handoff.Examine(x.own.Path, x.own.Since, o.DocumentBytes)
		if err != nil {
			a.log.Warn("an agent's own document is not fit; one is made of its transcript",
				"agent", x.new.Agent, "err", err)
		} else {
			x.new.Type = handoff.Manual
			x.new.Path = x.own.Path
			x.new.Body = string(f.Content)
		}
	}
	if x.new.Path == "" {
		if x.new.Body, err = recentOf(x.from, &x.new, now); err != nil {
			return err
		}
	}
	_, err = o.Documents.Put(x.new, now)
	return err
}

// free reports whether the owner of a document has no running client any more.
func (a *App) free(ctx context.Context, owner string) (free bool) {
	err := a.do(ctx, func(c *core) {
		at, known := c.fleet.Location(alerts.AgentID(owner))
		free = owner != "" &&
			(!known || at.At.PID == 0 || c.fleet.Gone(alerts.AgentID(owner)))
	})
	return err == nil && free
}

// sweep removes old copies of documents under plain names.
func (a *App) sweep(context.Context) func(*core, time.Time) {
	if docs := a.handoffs().Documents; docs != nil {
		if err := docs.SweepPlain(time.Now()); err != nil {
			a.log.Debug("old copies of documents cannot be removed", "err", err)
		}
	}
	return nil
}

// readDocument marks a document as read when the transcript shows it.
func (c *core) readDocument(agent alerts.AgentID, text string) {
	id, ok := wording.DocumentID(text)
	if s, known := c.fleet.Location(agent); ok && known && !c.dryRun {
		c.consume(
			handoff.ChannelOf(c.settings.Handoff.Channels, s.Project).Name,
			id,
			s.Session,
			s.At.PID,
		)
	}
}

// consume marks a document as read.
func (c *core) consume(channel, document, session string, pid int) {
	a := c.app
	c.effect(func(context.Context) func(*core, time.Time) {
		docs := a.handoffs().Documents
		if docs == nil || document == "" {
			return nil
		}
		err := docs.Consume(channel, document, session, pid, time.Now())
		if err != nil && !errors.Is(err, handoff.ErrNoDocument) {
			a.log.Warn("a document cannot be marked as read", "id", document, "err", err)
		}
		return nil
	})
}

// withdraw takes back the copy of a document whose handoff did not run.
func (c *core) withdraw(channel, document string) {
	a := c.app
	c.effect(func(context.Context) func(*core, time.Time) {
		if err := a.handoffs().Documents.Withdraw(channel, document, time.Now()); err != nil {
			a.log.Warn(
				"the copy of a document that is not needed cannot be withdrawn",
				"id", document,
				"err", err,
			)
		}
		return nil
	})
}

// documentsAnswer is the answer of GET /documents. Problem is about what could not
// be read.
type documentsAnswer struct {
	Documents []handoff.Document `json:"documents"`
	Problem   string             `json:"problem,omitempty"`
}

// getDocuments lists the handoff documents of all channels.
func (a *App) getDocuments(w http.ResponseWriter, _ *http.Request) error {
	answer := documentsAnswer{Documents: []handoff.Document{}}
	if docs := a.handoffs().Documents; docs != nil {
		all, err := docs.List(time.Now())
		answer.Documents = append(answer.Documents, all...)
		if err != nil {
			answer.Problem = err.Error()
		}
	}
	return respond.JSON(w, http.StatusOK, answer)
}

// getDocument gives the current document of a channel, with its text.
func (a *App) getDocument(w http.ResponseWriter, r *http.Request) error {
	channel := r.PathValue("channel")
	var doc handoff.Document
	var ok bool
	var err error
	if docs := a.handoffs().Documents; docs != nil {
		doc, ok, err = docs.Current(channel, time.Now())
	}
	switch {
	case err != nil:
		return respond.With(http.StatusInternalServerError, err)
	case !ok:
		return respond.Refuse(http.StatusNotFound,
			fmt.Sprintf(
				"channel %q has no handoff document; 'sm documents' lists them",
				channel,
			))
	}
	return respond.JSON(w, http.StatusOK, struct {
		handoff.Document
		Body string `json:"body"`
	}{doc, doc.Body})
}

// deleteDocuments takes back the documents of a channel that wait.
func (a *App) deleteDocuments(w http.ResponseWriter, r *http.Request) error {
	docs := a.handoffs().Documents
	if docs == nil {
		return handoff.ErrNoDocument
	}
	n, err := docs.Clear(r.PathValue("channel"), time.Now())
	if err != nil {
		return err
	}
	return respond.JSON(w, http.StatusOK, map[string]int{"cleared": n})
}
