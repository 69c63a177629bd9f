// Package central queries the sessions of many machines from a server with
// Prometheus' HTTP API.
//
// It only reads, with the same few queries for any number of hosts and sessions.
// Values that the server lacks are unknown and never 0. Each error is one line that
// ends with the remedy. Labels are cut and unprintable characters replaced.
//
// It keeps only the trends of the last half minute. Titles, directories, panes,
// handoffs and messages are not exported, so they are missing here.
package central
