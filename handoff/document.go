package handoff

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"sm/transcript/wording"
)

// Status is the state of a document.
type Status string

// The statuses. Documents with another one, of a newer version, are kept and not given.
const (
	StatusActive   Status = "active"   // waits for a session
	StatusConsumed Status = "consumed" // a session has it
	StatusExpired  Status = "expired"  // became too old before that
	StatusCleared  Status = "cleared"  // withdrawn
)

// DocumentType is the origin of a document.
type DocumentType string

// The types.
const (
	Manual DocumentType = "manual" // written by an agent, for sm handoff
	Auto   DocumentType = "auto"   // made from the transcript
)

// Document is what one session leaves to the next. Its JSON is an entry of a manifest, and
// the output of sm documents --json.
type Document struct {
	ID string `json:"id"`
	// Not stored in the manifest:
	Channel string `json:"channel,omitempty"`
	File    string `json:"file,omitempty"`    // path of the copy
	Current bool   `json:"current,omitempty"` // it is the channel's newest

	SessionID    string       `json:"session_id"` // the session that it comes from
	Agent        string       `json:"agent,omitempty"`
	CreatedAt    time.Time    `json:"created_at"` // whole seconds, UTC
	CreatedByPID int          `json:"created_by_pid"`
	WorkingDir   string       `json:"working_dir"`
	Type         DocumentType `json:"type"`
	Status       Status       `json:"status"`
	// Path is the file that the agent wrote, empty for automatic documents.
	Path string `json:"original_path,omitempty"`
	// Executed means that it belongs to a handoff that clears or restarts its own agent.
	Executed bool `json:"executed,omitempty"`
	// ClaimedBy is the agent that it was given to, with the session and the client that
	// got it last.
	ClaimedBy        string    `json:"claimed_by,omitempty"`
	ClaimedBySession string    `json:"claimed_by_session,omitempty"`
	ClaimedByPID     int       `json:"claimed_by_pid,omitempty"`
	ClaimedAt        time.Time `json:"claimed_at,omitzero"`
	// The session that has it in its transcript:
	ConsumedByPID     int       `json:"consumed_by_pid,omitempty"`
	ConsumedBySession string    `json:"consumed_by_session,omitempty"`
	ConsumedAt        time.Time `json:"consumed_at,omitzero"`

	// Body is the document itself; only some functions return it.
	Body string `json:"-"`
}

// owner is the agent that has the document.
func (d *Document) owner() string { return cmp.Or(d.ClaimedBy, d.Agent) }

// handedOver reports whether the owner gets the document again after a compaction.
func (d *Document) handedOver() bool { return d.Executed || d.Status == StatusConsumed }

// claim marks a document as given.
func (d *Document) claim(c Claimant, now time.Time) {
	d.ClaimedBy = c.Agent
	d.ClaimedBySession = c.SessionID
	d.ClaimedByPID = c.PID
	d.ClaimedAt = second(now)
}

func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// documentID returns HO-YYYYMMDD-HHMMSS-<first 8 of the session>, in UTC, with the next
// second while that id is taken.
func documentID(session string, now time.Time, taken func(id string) bool) string {
	prefix := strings.Map(func(r rune) rune {
		if alphanumeric(r) {
			return r
		}
		return -1
	}, session)
	for at := now.UTC(); ; at = at.Add(time.Second) {
		if id := "HO-" + at.Format("20060102-150405") + "-" + (prefix + "00000000")[:8]; !taken(id) {
			return id
		}
	}
}

// follows reports whether a document's id is of the same session and day, and not before id,
// which may be that of a document that was dropped.
func (d *Document) follows(id string) bool {
	const day = len("HO-20060102")
	return len(d.ID) == len(id) && d.ID[:day] == id[:day] && d.ID[len(id)-8:] == id[len(id)-8:] && d.ID >= id
}

// fileOf is the path of a document's copy.
func fileOf(dir, id string) string { return filepath.Join(dir, id+".md") }

// header returns the comments that begin a document's file.
func (d *Document) header() string {
	var b strings.Builder
	for _, line := range [...][2]string{
		{"HANDOFF-ID", d.ID},
		{"SESSION", d.SessionID},
		{"CHANNEL", d.Channel},
		{"CREATED", d.CreatedAt.UTC().Format(time.RFC3339)},
		{"TYPE", string(d.Type)},
		{"WORKING-DIR", d.WorkingDir},
	} {
		fmt.Fprintf(&b, "<!-- %s: %s -->\n", line[0], comment(line[1]))
	}
	b.WriteByte('\n')
	return b.String()
}

// comment returns a value that cannot leave its line and its comment.
func comment(s string) string {
	return strings.NewReplacer("-->", "--&gt;", "--!>", "--!&gt;").Replace(visible(s))
}

// visible replaces invisible characters by question marks.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if !wording.Printable(r) {
			return '?'
		}
		return r
	}, s)
}
