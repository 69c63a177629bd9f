package wire

import (
	"sm/observer/api"
	"sm/observer/curve"
)

// List has the sessions of the page, in any order.
type List struct {
	// Head has the common part, without sessions.
	Head   api.Sessions
	Agents []Agent
	// Projects are the watched folders.
	Projects []string
	// Done and Files count the transcripts of catch-up: those that were read,
	// and all.
	Done, Files int64
	// Filled means that no curve lacks the end of its transcript.
	Filled bool
}

// Agent is a session with its curve.
type Agent struct {
	api.Session
	// History is nil if the caller has this Version already.
	History *curve.History
	Version uint32
}

// Detail is a session with its curve, messages and subagents.
type Detail struct {
	api.Session
	History  curve.History
	Began    int64 // beginning of the cycle in seconds since 1970, 0 while unknown
	Messages []api.Message
	Problem  string // why there is no such session, "" if there is
}
