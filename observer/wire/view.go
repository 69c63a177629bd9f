package wire

import (
	"sm/observer/api"
	"sm/observer/curve"
)

// List is the sessions that a page lists, in any order.
type List struct {
	// Head has what all sessions share, and no sessions.
	Head   api.Sessions
	Agents []Agent
	// Projects are the watched folders.
	Projects []string
	// Done and Files count the transcripts that are read at the start.
	Done, Files int64
	// Filled means that no end of a transcript is left to be read for a curve.
	Filled bool
}

// Agent is a session with its curve.
type Agent struct {
	api.Session
	// History is nil for a caller that has this Version.
	History *curve.History
	Version uint32
}

// Detail is a session with all that belongs to it.
type Detail struct {
	api.Session
	History  curve.History
	Began    int64 // of the cycle, in seconds since 1970; 0 while unknown
	Messages []api.Message
	Problem  string // why there is no such session, "" if there is
}
