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
	"sm/transcript/claude/hook"
	"sm/transcript/wording"
)

// prepareEffect looks at a handoff's document, or makes it, and keeps a copy.
type prepareEffect struct {
	rotation   rotation.Rotation
	transcript string
	pid        int
}

func (c *core) prepare(r rotation.Rotation) {
	s, _ := c.fleet.Seated(r.Agent)
	c.effects = append(c.effects, prepareEffect{r, s.Path, s.At.PID})
}

func (e prepareEffect) do(p *performer) {
	p.typing.Go(func() { p.app.prepare(p.ctx, e) })
}

func (a *App) prepare(ctx context.Context, e prepareEffect) {
	in := rotation.Prepared{ID: e.rotation.ID}
	doc, written, err := a.keepDocument(e, true, time.Now())
	now := time.Now()
	in.Document, in.Channel, in.Read, in.Written, in.At = doc.ID, doc.Channel, doc.Path, written, now
	if e.rotation.Auto() {
		in.Read = doc.File
	}
	if typed := e.rotation.Way != rotation.WayRestart; err == nil && typed && !alerts.Plain(in.Read) {
		in.Plain, err = a.settings.Load().Handoff.Documents.Plain(string(in.ID), doc.Body, now)
	}
	if err != nil {
		a.log.Warn("the document of a handoff is not fit", "agent", e.rotation.Agent, "id", e.rotation.ID, "err", err)
		in.Reason = fileReason(err)
	}
	// With ctx the loop has ended: the next observer looks again.
	_ = a.update(ctx, func(c *core) error {
		if r, known := c.rotations.Find(in.ID); known && r.State == rotation.Reserved && in.Reason == "" {
			in.Messages = c.carried(&r, now)
		}
		c.rotate(in, now)
		return nil
	})
}

// leaveEffect keeps the document of an agent whose client has ended before its handoff: for
// its next session, or a new agent in the same project.
type leaveEffect struct{ prepareEffect }

func (e leaveEffect) do(p *performer) {
	p.typing.Go(func() {
		if _, _, err := p.app.keepDocument(e.prepareEffect, false, time.Now()); err != nil {
			p.log.Warn("the document of an agent that has ended is not kept", "agent", e.rotation.Agent, "err", err)
		}
	})
}

// sweepEffect removes old copies of documents under plain names.
type sweepEffect struct{}

func (sweepEffect) do(p *performer) {
	if docs := p.app.settings.Load().Handoff.Documents; docs != nil {
		p.typing.Go(func() {
			if err := docs.SweepPlain(time.Now()); err != nil {
				p.log.Debug("old copies of documents stay", "err", err)
			}
		})
	}
}

// fileReason is the word for a document that cannot be handed over.
func fileReason(err error) string {
	e, ok := errors.AsType[*handoff.FileError](err)
	switch {
	case ok && e.Reason == handoff.FileMissing:
		return rotation.ReasonFileGone
	case ok:
		return "file_" + e.Reason.String()
	case errors.Is(err, handoff.ErrNotPlain):
		return rotation.ReasonNotPlain
	}
	return "document_not_stored"
}

// keepDocument keeps a copy of what is handed over, unless it has one, and says when the
// file was last written. One of its own is the agent's alone.
func (a *App) keepDocument(e prepareEffect, own bool, now time.Time) (doc handoff.Document, written time.Time, err error) {
	r := &e.rotation
	n := handoff.NewDocument{
		Channel: a.channel(r.CWD).Name, Agent: string(r.Agent), SessionID: r.Left, PID: e.pid, WorkingDir: r.CWD,
		Type: handoff.Manual, Path: r.Path, Reserved: own,
	}
	if r.Auto() {
		n.Type = handoff.Auto
		if n.Body, err = recentOf(e.transcript, &n, now); err != nil {
			return doc, written, err
		}
	} else {
		f, err := handoff.Examine(r.Path, r.Since, a.settings.Load().Handoff.DocumentBytes)
		if err != nil {
			return doc, written, err
		}
		if own && r.Document != "" && f.Modified.Equal(r.Written) { // as it was when the terminal refused
			return handoff.Document{ID: r.Document, Channel: r.Channel, Path: r.Path, Body: string(f.Content)}, r.Written, nil
		}
		n.Body, written = string(f.Content), f.Modified
	}
	doc, err = a.settings.Load().Handoff.Documents.Put(n, now)
	return doc, written, err
}

// fitWithin is how long a file may take to be looked at while its agent waits.
const fitWithin = 3 * time.Second

// fit says whether a file may be handed over, and its path be typed.
func (s *server) fit(ctx context.Context, r *rotation.Rotation) error {
	if s.settings.Load().Handoff.Documents == nil {
		return errNoWay
	}
	prompt := rotation.UsualPrompt
	if s.settings.Load().Handoff.Rotations.Resume != nil {
		prompt = s.settings.Load().Handoff.Rotations.Resume
	}
	if text := prompt(r.Path); s.sanitise(text) != text || !strings.Contains(text, r.Path) {
		return refuse(http.StatusUnprocessableEntity,
			fmt.Sprintf("%q cannot be typed into a terminal as it is; write the document under a short and plain name", r.Path))
	}
	ctx, cancel := context.WithTimeout(ctx, fitWithin)
	defer cancel()
	looked := make(chan error, 1)
	go func() { // it ends when the file system answers, which may be never
		_, err := handoff.Examine(r.Path, r.Since, s.settings.Load().Handoff.DocumentBytes)
		looked <- err
	}()
	select {
	case err := <-looked:
		if err != nil {
			return statusError{http.StatusUnprocessableEntity, err}
		}
		return nil
	case <-ctx.Done():
		return refuse(http.StatusUnprocessableEntity, "the file system does not answer; write the document elsewhere")
	}
}

func (a *App) channel(dir string) handoff.Channel {
	return handoff.ChannelOf(a.settings.Load().Handoff.Channels, dir)
}

// recentOf makes a document of what was said last in a transcript.
func recentOf(path string, n *handoff.NewDocument, now time.Time) (string, error) {
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
	recent, err := handoff.Recent(f, info.Size(), handoff.Limits{})
	if err != nil {
		return "", fmt.Errorf("make a handoff document: %w", err)
	}
	return handoff.AutoDocument(handoff.Summary{
		At: now, Project: n.WorkingDir, Channel: n.Channel, SessionID: n.SessionID, Transcript: path, Recent: recent,
	}), nil
}

// asked is what a hook needs of the documents.
type asked struct {
	claimant handoff.Claimant
	last     bool // the newest that ran, whatever became of it
	keep     bool // one is to be made of the transcript
	n        handoff.NewDocument
	path     string
	own      rotation.Rotation // what the agent wants to hand over by itself: it has written that for just this
}

// documents says what a hook needs of the documents, nil for nothing. A session that a
// handoff begins is told by its prompt what to read.
func (c *core) documents(agent alerts.AgentID, p *hook.Payload, a *App) *asked {
	if a.settings.Load().Handoff.Documents == nil || c.dryRun || agent == "" || p.Subagent() {
		return nil
	}
	s, _ := c.fleet.Seated(agent)
	dir := cmp.Or(p.SM.Project, s.Project, p.CWD)
	channel := a.channel(dir)
	x := &asked{claimant: handoff.Claimant{Channel: channel, Agent: string(agent), SessionID: p.SessionID, PID: s.At.PID}}
	switch {
	case p.Event == hook.PreCompact && a.settings.Load().Handoff.AutoDocument:
		x.keep, x.path = true, p.TranscriptPath
		if s.Path != "" {
			x.path = s.Path
		}
		x.n = handoff.NewDocument{
			Channel: channel.Name, Agent: string(agent), SessionID: p.SessionID, PID: s.At.PID, WorkingDir: dir, Type: handoff.Auto, Executed: true,
		}
		x.own = c.written(agent)
		return x
	case p.Event != hook.SessionStart:
		return nil
	}
	if r, open := c.rotations.Open(agent); open && r.State != rotation.Scheduled {
		return nil
	}
	x.last = p.Source == "compact"
	return x
}

// written is the last handoff that an agent has asked for in this cycle and that has not taken place, zero for none.
func (c *core) written(agent alerts.AgentID) (last rotation.Rotation) {
	v, _ := c.engine.Agent(agent)
	for _, r := range c.rotations.All() { // the oldest first
		if r.Agent == agent && !r.Auto() && r.State != rotation.Confirmed && !r.Made.Before(v.Opened) {
			last = r
		}
	}
	return last
}

// bodyOf fills in the document that is kept before a compaction: the agent's own, if it is fit, else one of the
// transcript.
func (a *App) bodyOf(x *asked, now time.Time) (err error) {
	if x.own.Path != "" {
		f, err := handoff.Examine(x.own.Path, x.own.Since, a.settings.Load().Handoff.DocumentBytes)
		if err == nil {
			x.n.Type, x.n.Path, x.n.Body = handoff.Manual, x.own.Path, string(f.Content)
			return nil
		}
		a.log.Warn("an agent's own document is not fit; one is made of its transcript", "agent", x.n.Agent, "err", err)
	}
	x.n.Body, err = recentOf(x.path, &x.n, now)
	return err
}

// answerOf finds the text that a session's start is told, "" for none, or keeps what a
// compaction is about to take away.
func (a *App) answerOf(ctx context.Context, x *asked, now time.Time) string {
	docs := a.settings.Load().Handoff.Documents
	if x.keep {
		err := a.bodyOf(x, now)
		if err == nil {
			_, err = docs.Put(x.n, now)
		}
		if err != nil {
			a.log.Warn("no document was made before a compaction", "agent", x.n.Agent, "err", err)
		}
		return ""
	}
	var doc handoff.Document
	var ok bool
	var err error
	if x.last {
		doc, ok, err = docs.Last(x.claimant.Channel.Name, x.claimant.Agent, now)
	} else {
		doc, ok, err = docs.Claim(x.claimant, now, func(owner string) bool { return a.free(ctx, owner) })
	}
	if err != nil {
		a.log.Warn("a session starts without its document", "agent", x.claimant.Agent, "err", err)
	}
	if !ok || err != nil {
		return ""
	}
	a.log.Info("document given", "agent", x.claimant.Agent, "id", doc.ID, "session", x.claimant.SessionID)
	return handoff.Inject(doc, a.settings.Load().Handoff.Characters, now)
}

// free says that nobody sits any more where a document was left.
func (a *App) free(ctx context.Context, owner string) (free bool) {
	err := a.do(ctx, func(c *core) {
		s, known := c.fleet.Seated(alerts.AgentID(owner))
		free = owner != "" && (!known || s.At.PID == 0 || c.fleet.Gone(alerts.AgentID(owner)))
	})
	return err == nil && free
}

// consume notes that a session has heard its document: the transcript shows it.
func (c *core) consume(agent alerts.AgentID, text string) {
	id, ok := wording.DocumentID(text)
	if s, known := c.fleet.Seated(agent); ok && known && !c.dryRun {
		c.effects = append(c.effects, consumeEffect{dir: s.Project, document: id, session: s.Session, pid: s.At.PID})
	}
}

// consumeEffect marks a document as heard.
type consumeEffect struct {
	channel                string // "" for that of dir
	dir, document, session string
	pid                    int
}

func (e consumeEffect) do(p *performer) {
	p.typing.Go(func() { p.app.consume(e) })
}

func (a *App) consume(e consumeEffect) {
	if a.settings.Load().Handoff.Documents == nil || e.document == "" {
		return
	}
	err := a.settings.Load().Handoff.Documents.Consume(cmp.Or(e.channel, a.channel(e.dir).Name), e.document, e.session, e.pid, time.Now())
	if err != nil && !errors.Is(err, handoff.ErrNoDocument) {
		a.log.Warn("a document is not marked as heard", "id", e.document, "err", err)
	}
}

// withdrawEffect takes back the copy of a document whose handoff did not run.
type withdrawEffect struct{ channel, document string }

func (e withdrawEffect) do(p *performer) {
	p.typing.Go(func() {
		if err := p.app.settings.Load().Handoff.Documents.Withdraw(e.channel, e.document, time.Now()); err != nil {
			p.log.Warn("the copy of a document that is not needed stays", "id", e.document, "err", err)
		}
	})
}
