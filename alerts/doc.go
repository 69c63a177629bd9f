// Package alerts decides what is to be said about contexts: it is the policy, and
// pure. It takes values and the time at which they were true, and knows neither
// files nor clocks nor how a text reaches anyone.
//
// Invariants: the same events give the same decisions, live and in replay; a
// threshold is reached at its own value, never below.
//
// It does not count tokens or compactions: that is the transcript package's.
package alerts
