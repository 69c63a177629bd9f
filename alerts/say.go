package alerts

import "cmp"

// operatorCopy is the Ref of a notice's copy for the operator, where the parent
// hears it too.
const operatorCopy = "operator"

// notice is one that is to be said, to each of those whom it is for.
type notice struct {
	kind                   Kind
	ref                    string
	at                     Instant
	mode                   Mode
	self, parent, operator bool
	data                   Data
}

// say says a notice, unless nobody may hear it. The caller has made sure that it has
// not been said.
func (e *Engine) say(a *AgentState, n notice) {
	if a.Muted {
		return
	}
	key := Key{Agent: a.Agent, Cycle: a.Cycle, Kind: n.kind, Ref: n.ref}
	said := false
	send := func(key Key, to Target) {
		text, plain := e.text(n.kind, n.data)
		e.out = append(e.out, Say{Key: key, To: to, Mode: n.mode, Text: text, Plain: plain, At: n.at.Time()})
		said = true
	}
	if n.self {
		send(key, Target{Self, a.Agent})
	}
	if n.parent && a.Parent != "" && a.Parent != a.Agent {
		send(key, Target{Parent, a.Parent})
	}
	if n.operator {
		copied := key
		if n.parent {
			copied.Ref = operatorCopy
		}
		send(copied, Target{Role: Operator})
	}
	if !said {
		return
	}
	e.counters.Notices[n.kind]++
	if n.kind != KindNoData {
		a.Said[n.kind] = Said{At: n.at, Key: key, Open: true}
	}
}

// unsaid reports whether the cycle has no notice of the kind yet, from the
// engine or from an alert of another system.
func (a *AgentState) unsaid(k Kind) bool { return a.Said[k].At == 0 }

// counts makes a kind of notice count as said in this cycle, if it was not.
func (a *AgentState) counts(k Kind, at Instant) {
	a.Said[k].At = cmp.Or(a.Said[k].At, at)
}

// withdraw takes back what has been said of these kinds and may still wait.
func (e *Engine) withdraw(a *AgentState, list ...Kind) {
	var keys []Key
	for _, k := range list {
		if s := &a.Said[k]; s.Open {
			s.Open = false
			keys = append(keys, s.Key)
		}
	}
	if keys != nil {
		e.out = append(e.out, Withdraw{Keys: keys})
	}
}

// contextKinds are the notices to an agent about its own context.
func contextKinds() []Kind { return []Kind{KindWarning, KindCritical, KindForecast} }
