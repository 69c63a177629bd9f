package handoff

import (
	"slices"
	"strings"
	"time"

	"sm/transcript/wording"
)

// Status is the state of a document.
type Status string

// The statuses. Documents with an unknown status, from a newer version, are
// kept and not given.
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

// Document is a handoff document. Its JSON is an entry of a manifest, and the
// output of sm documents --json.
type Document struct {
	ID string `json:"id"`
	// Not part of an entry:
	Channel string `json:"channel,omitempty"`
	File    string `json:"file,omitempty"`    // its path
	Current bool   `json:"current,omitempty"` // it is the newest of its channel

	SessionID    string       `json:"session_id"` // the session that left it
	Agent        string       `json:"agent,omitempty"`
	CreatedAt    time.Time    `json:"created_at"` // whole seconds, UTC
	CreatedByPID int          `json:"created_by_pid"`
	WorkingDir   string       `json:"working_dir"`
	Type         DocumentType `json:"type"`
	Status       Status       `json:"status"`
	// Path is the file that the agent wrote, "" for automatic documents.
	Path string `json:"original_path,omitempty"`
	// Executed means that the document belongs to a handoff that clears or
	// restarts its own agent.
	Executed bool `json:"executed,omitempty"`
	// ClaimedBy is the agent that got the document. ClaimedBySession and
	// ClaimedByPID are the session and the client that got it last.
	ClaimedBy        string    `json:"claimed_by,omitempty"`
	ClaimedBySession string    `json:"claimed_by_session,omitempty"`
	ClaimedByPID     int       `json:"claimed_by_pid,omitempty"`
	ClaimedAt        time.Time `json:"claimed_at,omitzero"`
	// The session whose transcript contains the document:
	ConsumedByPID     int       `json:"consumed_by_pid,omitempty"`
	ConsumedBySession string    `json:"consumed_by_session,omitempty"`
	ConsumedAt        time.Time `json:"consumed_at,omitzero"`

	// Body is the content of the document; only some functions return it.
	Body string `json:"-"`
}

// expired reports whether an active document is too old to be given. A document
// from the future, made with a wrong clock, counts as old.
func (d *Document) expired(now time.Time, expiry time.Duration) bool {
	age := now.Sub(d.CreatedAt)
	return age > expiry || age < -expiry
}

const (
	idLayout = "HO-20060102-150405-"
	idPrefix = 8 // of the session's id
)

// documentID returns HO-YYYYMMDD-HHMMSS-<first 8 of the session>, in UTC, with
// the first second from now on whose id is not taken.
func documentID(session string, now time.Time, taken []string) string {
	prefix := strings.Map(func(r rune) rune {
		if alphanumeric(r) {
			return r
		}
		return -1
	}, session)
	prefix = (prefix + "00000000")[:idPrefix]
	for at := now.UTC(); ; at = at.Add(time.Second) {
		if id := at.Format(idLayout) + prefix; !slices.Contains(taken, id) {
			return id
		}
	}
}

const commentStart = "<!-- "

// commentLine returns a comment of one line. Its value cannot end the comment.
func commentLine(name, value string) string {
	value = strings.NewReplacer("-->", "--&gt;", "--!>", "--!&gt;").Replace(visible(value))
	return commentStart + name + ": " + value + " -->\n"
}

// visible replaces invisible characters by question marks, and invalid UTF-8 by
// U+FFFD.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if !wording.Printable(r) {
			return '?'
		}
		return r
	}, s)
}
