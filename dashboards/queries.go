package dashboards

import (
	"fmt"
	"strings"
)

// Labels that tell one observer from another, and one session from another. The label host
// is an external one, of an agent that writes to a central Prometheus; where there is none,
// it is empty everywhere and changes nothing.
const (
	byObserver = "job, instance, host"
	bySession  = "session, " + byObserver
)

// The selections of the dashboards' variables.
const (
	ofObservers = `job=~"$job",instance=~"$instance",host=~"$host"`
	ofSessions  = ofObservers + `,session=~"$session"`
)

// legend names a session; host is empty where there is none.
const legend = "{{session}} {{host}}"

// observers selects a metric of the chosen observers.
func observers(metric string) string { return metric + "{" + ofObservers + "}" }

// sessions selects a metric of the chosen sessions, with more matchers if need be.
func sessions(metric string, matchers ...string) string {
	return metric + "{" + strings.Join(append([]string{ofSessions}, matchers...), ",") + "}"
}

// threshold is a session's compaction threshold, wherever that is from. Where the source
// has just changed, both are there for a while.
func threshold() string {
	return "max without (source) (" + sessions("agent_session_compaction_threshold_tokens") + ")"
}

// pressure is the share of the compaction threshold that a context has reached, with the tool results that were cleared.
func pressure() string { return sessions("agent_session_pressure_ratio") }

// atWork keeps of an expression what speaks of sessions that did something lately.
func atWork(expr string) string {
	return expr + " and on (" + bySession + ") " + sessions("agent_session_active") + " == 1"
}

// imminent is the pressure of those who are about to be compacted, as the alert has it.
func imminent() string {
	return fmt.Sprintf("(%s and (%s >= %v or %s < %v or %s < %v))", pressure(), pressure(), pressureImminent,
		sessions("agent_session_forecast_replies_low"), repliesLeast, sessions("agent_session_forecast_replies"), repliesFew)
}

// firing is since how many seconds alerts of our rules fire, of the chosen sessions and of
// observers as a whole.
func firing() string {
	of := func(metric, more string) string {
		return "max by (alertname, severity, " + bySession + ") (" + metric + "{" + ofObservers + `,session=~"$session|"` + more + "})"
	}
	return "time() - " + of("ALERTS_FOR_STATE", "") + " and " + of("ALERTS", `,alertstate="firing"`)
}

// described joins what is known of a session in words.
func described(expr string) string {
	return expr + " * on (" + bySession + ") group_left (project, model) " + sessions("agent_session_info")
}

// levelNumber is a session's level as a number, see [levelStates].
func levelNumber() string {
	return `max without (level) (1 * ` + sessions("agent_session_level", `level="ok"`) +
		` or 2 * ` + sessions("agent_session_level", `level="early_warn"`) +
		` or 3 * ` + sessions("agent_session_level", `level="warn"`) +
		` or 4 * ` + sessions("agent_session_level", `level="critical"`) + `)`
}

// lastHour counts the events of a counter in the hour before, by a label. The window is
// fixed: one that follows the zoom would make the same events look like different ones.
func lastHour(label, counter string) string {
	return "sum by (" + label + ") (increase(" + counter + "[1h]))"
}

// rate is a counter's rate, by a label.
func rate(label, counter string) string {
	return "sum by (" + label + ") (rate(" + counter + "[$__rate_interval]))"
}

// quantile is one of a histogram's, over the hour before.
func quantile(q, histogram string) string {
	return "histogram_quantile(" + q + ", sum by (le) (increase(" + observers(histogram+"_bucket") + "[1h])))"
}
