package observer

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sm/alerts"
	"sm/handoff"
	"sm/handoff/rotation"
	"sm/observer/documents"
	"sm/observer/fleet"
	"sm/observer/respond"
	"sm/transcript/claude/hook"
	"sm/transcript/wording"
)

// prepareEffect looks at a handoff's document, or makes it, and keeps a copy. With leave the agent's client has ended
// before its handoff: the document is for its next session, or a new agent in the same project.
type prepareEffect struct {
	rotation   rotation.Rotation
	transcript string
	pid        int
	leave      bool
	reread     []string
}

func (h *handoffs) prepare(r rotation.Rotation) {
	s, _ := h.fleet.Location(r.Agent)
	h.effects.add(prepareEffect{
		rotation:   r,
		transcript: s.Path,
		pid:        s.At.PID,
		reread:     h.rereadBy(r),
	})
}

// rereadBy lists the files for a document that a handoff generates. A document
// of the agent is not changed.
func (h *handoffs) rereadBy(r rotation.Rotation) []string {
	if !r.Auto() {
		return nil
	}
	return h.reread(r.Agent, time.Now())
}

// fitWithin is how long a file may take to be looked at while its agent waits.
const fitWithin = 3 * time.Second

// fit checks that a file may be handed over and its path typed.
func (s *server) fit(ctx context.Context, r *rotation.Rotation) error {
	if s.settings.Load().Handoff.Documents == nil {
		return respond.ErrNoWay
	}
	prompt := rotation.UsualPrompt
	if s.settings.Load().Handoff.Rotations.Resume != nil {
		prompt = s.settings.Load().Handoff.Rotations.Resume
	}
	if text := prompt(r.Path); s.o.sanitise(text) != text || !strings.Contains(text, r.Path) {
		return respond.Refuse(http.StatusUnprocessableEntity,
			fmt.Sprintf(
				"%q cannot be typed into a terminal as it is; write the document under a short and plain name",
				r.Path,
			))
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
			return respond.With(http.StatusUnprocessableEntity, err)
		}
		return nil
	case <-ctx.Done():
		return respond.Refuse(
			http.StatusUnprocessableEntity,
			"the file system does not answer; write the document elsewhere",
		)
	}
}

// documentsFor returns what a hook needs from the documents, or nil. A session
// that a handoff begins gets its document by its prompt.
func (h *handoffs) documentsFor(agent alerts.AgentID, p *hook.Payload) *documents.Request {
	if h.settings.Handoff.Documents == nil || h.dryRun || agent == "" || p.Subagent() {
		return nil
	}
	s, _ := h.fleet.Location(agent)
	dir := cmp.Or(p.SM.Project, s.Project, p.CWD)
	channel := handoff.ChannelOf(h.settings.Handoff.Channels, dir)
	x := &documents.Request{
		Claimant: handoff.Claimant{
			Channel:   channel,
			Agent:     string(agent),
			SessionID: p.SessionID,
			PID:       s.At.PID,
		},
	}
	switch {
	case p.Event == hook.PreCompact && h.settings.Handoff.AutoDocument:
		x.Keep = true
		x.Path = p.TranscriptPath
		if s.Path != "" {
			x.Path = s.Path
		}
		x.New = handoff.NewDocument{
			Channel:    channel.Name,
			Agent:      string(agent),
			SessionID:  p.SessionID,
			PID:        s.At.PID,
			WorkingDir: dir,
			Type:       handoff.Auto,
			Executed:   true,
		}
		x.Reread = h.reread(agent, time.Now())
		x.Own = h.written(agent)
		return x
	case p.Event != hook.SessionStart:
		return nil
	}
	if r, open := h.rotations.Open(agent); open && r.State != rotation.Scheduled {
		return nil
	}
	x.Last = p.Source == "compact"
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

// consume notes that a session has heard its document: the transcript shows it.
func (h *handoffs) consume(agent alerts.AgentID, text string) {
	id, ok := wording.DocumentID(text)
	if s, known := h.fleet.Location(agent); ok && known && !h.dryRun {
		h.effects.add(consumeEffect{
			dir:      s.Project,
			document: id,
			session:  s.Session,
			pid:      s.At.PID,
		})
	}
}

// consumeEffect marks a document as heard.
type consumeEffect struct {
	channel                string // "" for that of dir
	dir, document, session string
	pid                    int
}

// withdrawEffect takes back the copy of a document whose handoff did not run.
type withdrawEffect struct{ channel, document string }

// newDocuments makes what keeps documents beside the loop.
func newDocuments(a *App) *documents.Keeper {
	return &documents.Keeper{Log: a.log, Options: func() documents.Options {
		o := &a.settings.Load().Handoff
		return documents.Options{
			Documents:     o.Documents,
			Channels:      o.Channels,
			DocumentBytes: o.DocumentBytes,
			Characters:    o.Characters,
		}
	}}
}

// freshenEffect lets a guarded session go on whose context a handoff has renewed.
type freshenEffect struct {
	rotation rotation.Rotation
	at       fleet.Place
}
