package fleet

import "time"

// Recent gives, in no order, the views of those whose client runs or that were seen no
// longer ago than ttl, 0 for any time; others counts the rest. Sessions that their agent
// has left are neither. Unlike All it costs next to nothing for those who are long gone.
func (vw *viewer) Recent(now time.Time, ttl time.Duration) (views []View, others int) {
	for r := range vw.rows() {
		if r.s != nil && r.of == nil && vw.agents[r.s.seat.Agent] != nil {
			continue
		}
		if ttl > 0 && !vw.runsNow(&r) && now.Sub(r.seen()) > ttl {
			others++
			continue
		}
		views = append(views, View{})
		vw.view(&r, now, &views[len(views)-1])
	}
	return views, others
}

// runsNow says whether the client's registry knows a process that holds the session.
func (lv *liveness) runsNow(r *row) bool {
	if r.s != nil {
		return lv.clients[r.s.key].PID != 0
	}
	return lv.clients[r.of.Session].PID != 0
}

// seen is View.Seen of a row.
func (r *row) seen() time.Time {
	var at time.Time
	if r.s != nil {
		at = seen(r.s.own[0])
	}
	if r.of != nil {
		if t := max(r.of.Spoke, r.of.Hooked); t != 0 && t.Time().After(at) {
			at = t.Time()
		}
	}
	return at
}
