package dashboards

import (
	"fmt"
	"slices"
)

// fleetPressure shows who is close to a compaction, what happened, and whether the figures
// can be believed.
func fleetPressure() Dashboard {
	top := list("top", "Top", "How many sessions the table shows.", "10", "25", "50", "100")
	d := dashboard(fleetUID, "Agents: fleet pressure", "Who is close to a compaction, what compactions there were, what was said, and how the observers fare.",
		[]variable{top}, slices.Concat(glance(), closest(), forecasts(), compactions(), collapsed(costs()), collapsed(agreement()), collapsed(said()), collapsed(spending()), collapsed(health()))...)
	d.Links = []link{leads(sessionUID, "One session")}
	d.Annotations = marks(false) // there may be many
	return d
}

// glance is the first line: six figures of how it stands.
func glance() []Panel {
	count := func(expr string) Target { return now("count(" + atWork(expr) + ") or vector(0)") }
	return []Panel{
		stat("Active sessions", "Sessions whose client runs, or that did something in the last 10 minutes.", unitCount,
			now("sum("+sessions("agent_session_active")+") or vector(0)")),
		stat("High", "Active sessions whose pressure is so high that they should hand over soon; those that are about to be compacted included.", unitCount,
			count(fmt.Sprintf("%s >= %v", pressure(), pressureHigh))).colored(steps(colorOK, colorWarn, 1.)),
		stat("Imminent", "Active sessions that are about to be compacted: by their pressure, or by the replies that are left.", unitCount,
			count(imminent())).colored(steps(colorOK, colorCritical, 1.)),
		stat("Highest pressure", "Context tokens against the compaction threshold, with cleared tool results; the highest of all sessions.", unitRatio,
			now("max("+pressure()+")")).colored(pressureSteps()),
		stat("Nearest compaction", "Replies of the model that the session has left which is nearest to its compaction, of those that are active.", unitCount,
			now("min("+atWork(sessions("agent_session_forecast_replies"))+")")).colored(repliesSteps()),
		stat("Compactions", "Compactions in the time shown, of all sessions. Prometheus extrapolates, so the figure need not be whole.", unitCount,
			now("sum(increase("+observers("agent_compactions_total")+"[$__range]))")),
	}
}

// closest is the table of those who are closest, and how the pressure went.
func closest() []Panel {
	most := "topk($top, max by (" + bySession + ") (" + pressure() + "))"
	of := func(expr string) Target { return rows("max by (" + bySession + ") (" + expr + ") and " + most) }
	open := property{"links", []link{{
		Title: "Show this session",
		URL: "/d/" + sessionUID + "?${datasource:queryparam}&${host:queryparam}&${job:queryparam}&var-instance=${__data.fields.instance}" +
			"&var-session=${__data.fields.session}&${__url_time_range}",
	}}}
	gauge := property{"custom.cellOptions", map[string]any{"type": "gauge", "mode": "basic", "valueDisplayMode": "text"}}
	background := property{"custom.cellOptions", map[string]any{"type": "color-background", "mode": "basic"}}
	return []Panel{
		row("Who is close to a compaction"),
		table(10, "Closest to a compaction", "The sessions with the highest pressure. Limit is the compaction threshold: configured, seen, or assumed; while it is unknown, pressure is too. "+
			"An empty cell is unknown.", "Pressure",
			rows(described(most)), of(sessions("agent_session_context_tokens")), rows("max by (source, "+bySession+") ("+sessions("agent_session_compaction_threshold_tokens")+") and on ("+bySession+") "+most),
			of(sessions("agent_session_context_window_tokens")), of(sessions("agent_session_forecast_replies")),
			of(sessions("agent_session_forecast_seconds")), of(levelNumber()),
			of("time() - "+sessions("agent_session_last_activity_timestamp_seconds"))).
			merged([]string{"session", "project", "model", "host", "instance", "Value #A", "Value #B", "Value #C", "source", "Value #D", "Value #E", "Value #F", "Value #G", "Value #H"}, "job").
			column("session", "Session", "string", open).column("project", "Project", "string").column("model", "Model", "string").
			column("host", "Host", "string").column("instance", "Observer", "string").
			column("Value #A", "Pressure", unitRatio, gauge, property{"min", 0}, property{"max", 1}, property{"color", color{Mode: "thresholds"}}, property{"thresholds", pressureSteps()}).
			column("Value #B", "Context", unitCount).column("Value #C", "Limit", unitCount).column("source", "Limit is", "string").column("Value #D", "Window", unitCount).
			column("Value #E", "Replies left", unitCount, property{"decimals", 0}).column("Value #F", "Work left", unitSeconds).
			column("Value #G", "Told", unitNone, background, property{"mappings", []mapping{{"value", levelStates()}}}).
			column("Value #H", "Last activity", unitSeconds),
		alerts(8),
		curves(12, "Pressure", "Context tokens against the compaction threshold, with cleared tool results. The dashed lines are those of the alerts.", unitRatio,
			over(pressure(), legend)).colored(pressureSteps()).lined().tall(10),
		heatmap(12, "Pressure of all sessions", "How many sessions were at which pressure, and when.", unitRatio, "0.05", over(pressure(), legend)).tall(10),
		timeline(24, "Told", "The level of the notices that each context has reached; unknown after a compaction until the next reply.", levelStates(), over(levelNumber(), legend)),
	}
}

// forecasts say how far the compactions are, and what is known of where they strike.
func forecasts() []Panel {
	return []Panel{
		row("Forecast"),
		curves(6, "Replies left", "Replies of the model until the context reaches its compaction threshold, if it goes on to grow as it has. No curve: unknown.", unitCount,
			over(sessions("agent_session_forecast_replies"), legend)),
		curves(6, "Turns left", "The same in turns.", unitCount,
			over(sessions("agent_session_forecast_turns"), legend)),
		curves(6, "Work left", "The same in seconds of work; waiting for somebody is no work.", unitSeconds,
			over(sessions("agent_session_forecast_seconds"), legend)),
		curves(6, "Compaction thresholds, by model", "Context size at which the client compacts by itself: configured, the median of at least three compactions seen, or assumed.", unitCount,
			over("max by (model) ("+threshold()+" * on ("+bySession+") group_left (model) "+sessions("agent_session_info")+")", "{{model}}")).
			stepped(),
	}
}

// compactions say what compactions there were.
func compactions() []Panel {
	return []Panel{
		row("Compactions"),
		curves(8, "Compactions, by trigger", "Compactions in the hour before, each counted once.", unitCount,
			over(lastHour("trigger", observers("agent_compactions_total")), "{{trigger}}")).stacked(),
		curves(8, "Attempts and compactions", "Compactions that clients set out to make, by their hooks, and those that came of it, in the hour before. More attempts than compactions: some did not end. Fewer: there are clients without our hooks.", unitCount,
			over("sum(increase("+observers("agent_compaction_attempts_total")+"[1h]))", "attempts"),
			over("sum(increase("+observers("agent_compactions_total")+"[1h]))", "compactions")),
		curves(8, "Storms", "Storms of compactions in the hour before: several automatic ones in a row of one agent.", unitCount,
			over("sum(increase("+observers("agent_compaction_storms_total")+"[1h]))", "storms")),
		heatmap(12, "Size at compaction", "Context size before compactions, in the hour before.", unitCount, "",
			buckets("sum by (le) (increase("+observers("agent_compaction_pre_tokens_bucket")+"[1h]))")),
		curves(12, "Duration of compactions", "Of compactions in the hour before; no curve without any.", unitSeconds,
			over(quantile("0.5", "agent_compaction_duration_seconds"), "median"), over(quantile("0.9", "agent_compaction_duration_seconds"), "9 of 10")),
	}
}

// costs says what compactions cost, and how handoffs compare.
func costs() []Panel {
	share := func(kind string) string {
		of := func(what string) string {
			return "sum(increase(" + observers("agent_"+kind+"_"+what+"_total") + "[1d]))"
		}
		return of("rereads") + " / clamp_min(" + of("reads") + ", 1)"
	}
	return []Panel{
		row("What compactions cost"),
		curves(8, "Reads that were repeats", "Share of the files read in the 25 replies after a boundary that the agent had read before it, in the day before; 0 without any.", unitRatio,
			over(share("compaction"), "after compactions"), over(share("handoff"), "after handoffs"), over(share("clear"), "after clears")),
		curves(8, "Tokens read again", "By how much contexts grew by files read again, in the hour before.", unitCount,
			over(lastHour("client", observers("agent_compaction_reread_tokens_total")), "after compactions, {{client}}"),
			over(lastHour("client", observers("agent_handoff_reread_tokens_total")), "after handoffs, {{client}}"),
			over(lastHour("client", observers("agent_clear_reread_tokens_total")), "after clears, {{client}}")).stacked(),
		curves(8, "Dear compactions in a row", "How many of a session's newest compactions in a row were followed by more tokens read again than nine of ten are.", unitCount,
			over(sessions("agent_session_dear_compactions"), legend)).stepped(),
	}
}

// agreement says whether the figures can be believed.
func agreement() []Panel {
	return []Panel{
		row("Do the sources agree"),
		curves(12, "Drift", "How many tokens more the status line tells than the transcript; 0 while they agree.", unitCount,
			over(sessions("agent_session_drift_tokens"), legend)).signed(),
		curves(12, "Age of the newest figure, by source", "Of active sessions, the one that has waited longest.", unitSeconds,
			over("max by (source) ("+atWork("time() - "+sessions("agent_session_sample_timestamp_seconds"))+")", "{{source}}")),
	}
}

// said says what agents and operators heard.
func said() []Panel {
	return []Panel{
		row("What was said"),
		curves(8, "Notices, by kind", "What the policy decided to say, in the hour before.", unitCount,
			over(lastHour("kind", observers("sm_notices_total")), "{{kind}}")).stacked(),
		curves(8, "Messages, by outcome", "Messages to agents that have ended, in the hour before. Expired and unconfirmed ones have not been heard, as far as anybody knows.", unitCount,
			over(lastHour("outcome, via", observers("sm_messages_total"))+" > 0", "{{outcome}} by {{via}}")),
		curves(8, "Queue", "Messages to agents that have not ended.", unitCount,
			over("sum by (instance, host) ("+observers("sm_queue_messages")+")", "{{instance}} {{host}}")).stepped(),
		curves(8, "Handoffs, by outcome", "Handoffs in the hour before.", unitCount,
			over(lastHour("outcome", observers("sm_handoffs_total")), "{{outcome}}")).stacked(),
		curves(8, "Reminders, by outcome", "Reminders in the hour before.", unitCount,
			over(lastHour("outcome", observers("sm_reminders_total")), "{{outcome}}")).stacked(),
		curves(8, "Alertmanagers asked, by outcome", "Requests for the alerts of a host, in the hour before; none where alertmanager.urls is empty.", unitCount,
			over(lastHour("outcome", observers("sm_alertmanager_polls_total")), "{{outcome}}")).stacked(),
	}
}

// spending says what the work costs, as far as status lines say.
func spending() []Panel {
	return []Panel{
		row("Cost and limits"),
		curves(6, "Cost, by client", "What clients reckon that their sessions have cost, in the hour before, in US dollars. No curve without a status line.", unitDollars,
			over(lastHour("client", observers("agent_cost_usd_total")), "{{client}}")),
		curves(6, "Cost of the sessions", "What the client reckons that each session has cost so far.", unitDollars,
			over(sessions("agent_session_cost_usd"), legend)),
		curves(6, "Rate limits", "Share of the account's rate limits that is used. No curve: unknown, or nothing used since the window began.", unitRatio,
			over("max by (client, window) ("+observers("agent_rate_limit_used_ratio")+")", "{{client}} {{window}}")),
		curves(6, "Until the limits are reset", "Time until the windows of the rate limits end.", unitSeconds,
			over("max by (client, window) ("+observers("agent_rate_limit_reset_timestamp_seconds")+") - time()", "{{client}} {{window}}")),
	}
}

// health says how the observers fare.
func health() []Panel {
	const at = "{{instance}} {{host}}"
	return []Panel{
		row("Observers"),
		timeline(8, "Up", "Whether Prometheus reaches the observer.", yesNo(colorCritical, colorOK), over(observers("up"), at)),
		curves(8, "Not read yet", "Bytes of live transcripts that have not been read, as of the last check.", unitBytes, over(observers("sm_read_lag_bytes"), at)),
		curves(8, "Tokens a second, by kind", "Tokens of API messages, each counted once; subagents included.", unitCount,
			over(rate("kind", observers("agent_tokens_total")), "{{kind}}")).stacked(),
		curves(8, "Transcript lines a second", "Lines read; bad ones are no JSON objects. Unknown are names in records that this sm does not read.", unitCount,
			over(rate("result", observers("sm_transcript_lines_total")), "{{result}}"),
			over(rate("kind", observers("sm_transcript_unknown_total"))+" > 0", "unknown {{kind}}")),
		curves(8, "Bytes read a second", "Bytes of transcript lines read.", "Bps", over(rate("instance, host", observers("sm_transcript_bytes_total")), at)),
		curves(8, "Transcripts", "Files known, by how they are watched. Failed ones cannot be read.", unitCount,
			over("sum by (state) ("+observers("sm_transcripts")+")", "{{state}}")),
		curves(8, "Hooks and status lines, by event", "Events of clients a second.", "ops", over(rate("event", observers("sm_hook_events_total"))+" > 0", "{{event}}")),
		curves(8, "Requests turned away, by reason", "By the guard, in the hour before.", unitCount,
			over(lastHour("reason", observers("sm_http_refused_total"))+" > 0", "{{reason}}")),
		curves(8, "Sessions without series", "Sessions beyond metrics.max_sessions: neither this page nor the alerts know them.", unitCount,
			over(observers("sm_sessions_unexported"), at)),
		timeline(12, "Configuration", "Whether the newest configuration is in effect; an observer goes on with the last one that held.", yesNo(colorCritical, colorOK),
			over(observers("sm_config_last_reload_successful"), at)),
		curves(12, "Age of the configuration", "Time since the configuration in effect was read.", unitSeconds,
			over("time() - "+observers("sm_config_last_reload_success_timestamp_seconds"), at)),
		curves(12, "CPU of the observers", "Cores in use.", unitCount, over("rate("+observers("process_cpu_seconds_total")+"[$__rate_interval])", at)),
		curves(12, "Memory of the observers", "Resident memory.", unitBytes, over(observers("process_resident_memory_bytes"), at)),
	}
}
