package observer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"sm/alerts"
	"sm/handoff"
	"sm/handoff/rotation"
	"sm/transcript/claude/hook"
	"sm/transcript/wording"
)

// documents keeps what is handed over, on disk and beside the loop.
type documents struct {
	settings *atomic.Pointer[Settings]
	log      *slog.Logger
}

func (d *documents) options() *HandoffOptions { return &d.settings.Load().Handoff }

// store is where the documents are, nil for no handoffs.
func (d *documents) store() *handoff.Documents { return d.options().Documents }

// prepareEffect looks at a handoff's document, or makes it, and keeps a copy. With leave the agent's client has ended
// before its handoff: the document is for its next session, or a new agent in the same project.
type prepareEffect struct {
	rotation   rotation.Rotation
	transcript string
	pid        int
	leave      bool
}

func (h *handoffs) prepare(r rotation.Rotation) {
	s, _ := h.fleet.Seated(r.Agent)
	h.effects.add(prepareEffect{rotation: r, transcript: s.Path, pid: s.At.PID})
}

func (e prepareEffect) run(_ context.Context, r *effectRunner) outcome {
	doc, written, err := r.documents.keep(e, time.Now())
	if e.leave {
		if err != nil {
			r.log.Warn("the document of an agent that has ended is not kept", "agent", e.rotation.Agent, "err", err)
		}
		return nil
	}
	now := time.Now()
	in := rotation.Prepared{ID: e.rotation.ID, Document: doc.ID, Channel: doc.Channel, Read: doc.Path, Written: written, At: now}
	if e.rotation.Auto() {
		in.Read = doc.File
	}
	if typed := e.rotation.Way != rotation.WayRestart; err == nil && typed && !alerts.Plain(in.Read) {
		in.Plain, err = r.documents.store().Plain(string(in.ID), doc.Body, now)
	}
	if err != nil {
		r.log.Warn("the document of a handoff is not fit", "agent", e.rotation.Agent, "id", e.rotation.ID, "err", err)
		in.Reason = fileReason(err)
	}
	return prepared{in}
}

// prepared is the outcome of a prepareEffect.
type prepared struct{ rotation.Prepared }

func (o prepared) apply(c *core, now time.Time) {
	if r, known := c.rotations.Find(o.ID); known && r.State == rotation.Reserved && o.Reason == "" {
		o.Messages = c.delivery.carried(&r, now)
	}
	c.handoffs.step(o.Prepared, now)
}

// sweepEffect removes old copies of documents under plain names.
type sweepEffect struct{}

func (sweepEffect) run(_ context.Context, r *effectRunner) outcome {
	if docs := r.documents.store(); docs != nil {
		if err := docs.SweepPlain(time.Now()); err != nil {
			r.log.Debug("old copies of documents stay", "err", err)
		}
	}
	return nil
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

// keep keeps a copy of what is handed over, unless it has one, and gives the time when the file was last written. What is
// not left to others is the agent's alone.
func (d *documents) keep(e prepareEffect, now time.Time) (doc handoff.Document, written time.Time, err error) {
	r, own := &e.rotation, !e.leave
	n := handoff.NewDocument{
		Channel: d.channel(r.CWD).Name, Agent: string(r.Agent), SessionID: r.Left, PID: e.pid, WorkingDir: r.CWD,
		Type: handoff.Manual, Path: r.Path, Reserved: own,
	}
	if r.Auto() {
		n.Type = handoff.Auto
		if n.Body, err = recentOf(e.transcript, &n, now); err != nil {
			return doc, written, err
		}
	} else {
		f, err := handoff.Examine(r.Path, r.Since, d.options().DocumentBytes)
		if err != nil {
			return doc, written, err
		}
		if own && r.Document != "" && f.Modified.Equal(r.Written) { // as it was when the terminal refused
			return handoff.Document{ID: r.Document, Channel: r.Channel, Path: r.Path, Body: string(f.Content)}, r.Written, nil
		}
		n.Body, written = string(f.Content), f.Modified
	}
	doc, err = d.store().Put(n, now)
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
	if text := prompt(r.Path); s.o.sanitise(text) != text || !strings.Contains(text, r.Path) {
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

func (d *documents) channel(dir string) handoff.Channel {
	return handoff.ChannelOf(d.options().Channels, dir)
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
func (h *handoffs) documents(agent alerts.AgentID, p *hook.Payload) *asked {
	if h.settings.Handoff.Documents == nil || h.dryRun || agent == "" || p.Subagent() {
		return nil
	}
	s, _ := h.fleet.Seated(agent)
	dir := cmp.Or(p.SM.Project, s.Project, p.CWD)
	channel := handoff.ChannelOf(h.settings.Handoff.Channels, dir)
	x := &asked{claimant: handoff.Claimant{Channel: channel, Agent: string(agent), SessionID: p.SessionID, PID: s.At.PID}}
	switch {
	case p.Event == hook.PreCompact && h.settings.Handoff.AutoDocument:
		x.keep, x.path = true, p.TranscriptPath
		if s.Path != "" {
			x.path = s.Path
		}
		x.n = handoff.NewDocument{
			Channel: channel.Name, Agent: string(agent), SessionID: p.SessionID, PID: s.At.PID, WorkingDir: dir, Type: handoff.Auto, Executed: true,
		}
		x.own = h.written(agent)
		return x
	case p.Event != hook.SessionStart:
		return nil
	}
	if r, open := h.rotations.Open(agent); open && r.State != rotation.Scheduled {
		return nil
	}
	x.last = p.Source == "compact"
	return x
}

// written is the last handoff that an agent has asked for in this cycle and that has not taken place, zero for none.
func (h *handoffs) written(agent alerts.AgentID) (last rotation.Rotation) {
	v, _ := h.engine.Agent(agent)
	for _, r := range h.rotations.All() { // the oldest first
		if r.Agent == agent && !r.Auto() && r.State != rotation.Confirmed && !r.Made.Before(v.Opened) {
			last = r
		}
	}
	return last
}

// bodyOf fills in the document that is kept before a compaction: the agent's own, if it is fit, else one of the
// transcript.
func (d *documents) bodyOf(x *asked, now time.Time) (err error) {
	if x.own.Path != "" {
		f, err := handoff.Examine(x.own.Path, x.own.Since, d.options().DocumentBytes)
		if err == nil {
			x.n.Type, x.n.Path, x.n.Body = handoff.Manual, x.own.Path, string(f.Content)
			return nil
		}
		d.log.Warn("an agent's own document is not fit; one is made of its transcript", "agent", x.n.Agent, "err", err)
	}
	x.n.Body, err = recentOf(x.path, &x.n, now)
	return err
}

// answerOf finds the text that a session's start is told, "" for none, or keeps what a
// compaction is about to take away.
func (d *documents) answerOf(x *asked, now time.Time, free func(owner string) bool) string {
	docs := d.store()
	if x.keep {
		err := d.bodyOf(x, now)
		if err == nil {
			_, err = docs.Put(x.n, now)
		}
		if err != nil {
			d.log.Warn("no document was made before a compaction", "agent", x.n.Agent, "err", err)
		}
		return ""
	}
	var doc handoff.Document
	var ok bool
	var err error
	if x.last {
		doc, ok, err = docs.Last(x.claimant.Channel.Name, x.claimant.Agent, now)
	} else {
		doc, ok, err = docs.Claim(x.claimant, now, free)
	}
	if err != nil {
		d.log.Warn("a session starts without its document", "agent", x.claimant.Agent, "err", err)
	}
	if !ok || err != nil {
		return ""
	}
	d.log.Info("document given", "agent", x.claimant.Agent, "id", doc.ID, "session", x.claimant.SessionID)
	return handoff.Inject(doc, d.options().Characters, now)
}

// consume notes that a session has heard its document: the transcript shows it.
func (h *handoffs) consume(agent alerts.AgentID, text string) {
	id, ok := wording.DocumentID(text)
	if s, known := h.fleet.Seated(agent); ok && known && !h.dryRun {
		h.effects.add(consumeEffect{dir: s.Project, document: id, session: s.Session, pid: s.At.PID})
	}
}

// consumeEffect marks a document as heard.
type consumeEffect struct {
	channel                string // "" for that of dir
	dir, document, session string
	pid                    int
}

func (e consumeEffect) run(_ context.Context, r *effectRunner) outcome {
	d := r.documents
	if d.store() == nil || e.document == "" {
		return nil
	}
	err := d.store().Consume(cmp.Or(e.channel, d.channel(e.dir).Name), e.document, e.session, e.pid, time.Now())
	if err != nil && !errors.Is(err, handoff.ErrNoDocument) {
		r.log.Warn("a document is not marked as heard", "id", e.document, "err", err)
	}
	return nil
}

// withdrawEffect takes back the copy of a document whose handoff did not run.
type withdrawEffect struct{ channel, document string }

func (e withdrawEffect) run(_ context.Context, r *effectRunner) outcome {
	if err := r.documents.store().Withdraw(e.channel, e.document, time.Now()); err != nil {
		r.log.Warn("the copy of a document that is not needed stays", "id", e.document, "err", err)
	}
	return nil
}
