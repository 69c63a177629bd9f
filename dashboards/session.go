package dashboards

import "slices"

// oneSession shows the life of one session.
func oneSession() Dashboard {
	d := dashboard(sessionUID, "Agents: one session", "The context of one session over time: how full, how fast it grows, when it was compacted, and whether its sources agree.",
		nil, slices.Concat(standing(), curve(), ahead(), collapsed(sources()), collapsed(around()))...)
	for i := range d.Templating.List {
		if v := &d.Templating.List[i]; v.Name == "session" {
			v.Multi, v.IncludeAll, v.Current = false, false, nil // the first there is
		}
	}
	d.Links = []link{leads(fleetUID, "Fleet pressure")}
	d.Annotations = marks(true)
	return d
}

// marks are lines at compactions. Each is the growth of a counter over exactly one step, so
// that none is shown twice and none falls between two steps.
func marks(shown bool) annotations {
	counter := sessions("agent_session_compactions_total")
	return annotations{[]annotation{{
		Name: "Compactions", Enable: shown, IconColor: colorCritical, Datasource: prometheus(),
		Expr: counter + " - " + counter + " offset $__interval > 0", Step: "60s",
		TitleFormat: "{{session}}", TextFormat: "compaction, {{trigger}}", TagKeys: "trigger",
	}}}
}

// standing is the first line: how it stands now.
func standing() []Panel {
	return []Panel{
		stat("Pressure", "Context tokens against the compaction threshold, with cleared tool results.", unitRatio, now(pressure())).colored(pressureSteps()),
		stat("Context", "Tokens in the context at the newest reply; unknown after a compaction until the next one.", unitCount, now(sessions("agent_session_context_tokens"))),
		stat("Told", "The level of the notices that the context has reached.", unitNone, now(levelNumber())).states(levelStates()).
			colored(steps(colorUnknown, colorOK, 1., colorEarly, 2., colorWarn, 3., colorCritical, 4.)),
		stat("Replies left", "Replies of the model until the context reaches its compaction threshold, if it goes on to grow as it has.", unitCount, now(sessions("agent_session_forecast_replies"))).
			colored(repliesSteps()),
		stat("Compactions", "All that the session's transcript holds, without those copied from another session.", unitCount,
			now("sum without (trigger) ("+sessions("agent_session_transcript_compactions")+")")),
		stat("Compacts now", "Whether the client compacts at this moment.", unitSwitch, now(sessions("agent_session_compacting"))).
			states(yesNo(colorOK, colorWarn)),
		table(4, "What it is", "The session in words. Where the sizes of its window and of its compaction threshold are from stands beside them.", "Session",
			rows("max by ("+bySession+", session_id, client, project, model, version, window_source) ("+sessions("agent_session_info")+")"),
			rows("max by ("+bySession+", source) ("+sessions("agent_session_compaction_threshold_tokens")+")")).
			merged([]string{"session", "session_id", "project", "client", "model", "version", "window_source", "Value #B", "source", "host", "instance"}, "job", "Value #A").
			column("session", "Session", "string").column("session_id", "Session id", "string").column("project", "Project", "string").
			column("client", "Client", "string").column("model", "Model", "string").column("version", "Version", "string").column("window_source", "Window is", "string").
			column("Value #B", "Threshold", unitCount).column("source", "Threshold is", "string").
			column("host", "Host", "string").column("instance", "Observer", "string"),
		alerts(4),
	}
}

// curve is what this dashboard is for.
func curve() []Panel {
	dashed := func(fixed string) []property {
		return []property{
			{"custom.lineStyle", map[string]any{"fill": "dash", "dash": []int{10, 10}}}, {"custom.fillOpacity", 0},
			{"custom.showPoints", "never"}, {"color", color{"fixed", fixed}}, {"custom.lineInterpolation", "stepAfter"},
		}
	}
	p := curves(24, "Context", "Tokens in the context, its window, its compaction threshold, and the tool results that were cleared. A gap after a compaction: unknown until the next reply.", unitCount,
		over(sessions("agent_session_context_tokens"), legend),
		over(sessions("agent_session_context_window_tokens"), "window of "+legend),
		over(threshold(), "compaction threshold of "+legend),
		over(sessions("agent_session_cleared_tokens"), "cleared of "+legend)).
		overrideQuery("B", dashed("text")...).overrideQuery("C", dashed(colorCritical)...).tall(12)
	p.FieldConfig.Defaults.Custom["fillOpacity"] = 10
	return []Panel{
		row("Context"), p,
		curves(12, "Pressure", "The share of the compaction threshold that the context has reached; unknown after a compaction until the next reply.", unitRatio,
			over(sessions("agent_session_pressure_ratio"), legend)).colored(pressureSteps()).lined(),
		timeline(12, "Told", "The level of the notices that the context has reached; unknown after a compaction until the next reply.", levelStates(), over(levelNumber(), legend)),
		curves(12, "Compactions, by trigger", "Of this session in the hour before.", unitCount,
			over("sum by (session, host, trigger) (increase("+sessions("agent_session_compactions_total")+"[1h])) > 0", "{{trigger}} "+legend)).stacked(),
		timeline(6, "Compacting", "When the client compacted.", yesNo("transparent", colorWarn), over(sessions("agent_session_compacting"), legend)),
		timeline(6, "Active", "When the session's client ran, or it did something in the 10 minutes before.", yesNo("transparent", colorOK), over(sessions("agent_session_active"), legend)),
		timeline(12, "State", "What the session did, as the page has it; waiting is for a person.", yesNo("transparent", colorOK), over(sessions("agent_session_state"), "{{state}} "+legend)),
		curves(6, "Cycle", "A step at each compaction, clear and handoff.", unitCount, over(sessions("agent_session_cycle"), legend)).stepped(),
		curves(6, "Messages to it", "Those that have not ended. No curve for none.", unitCount, over(sessions("agent_session_queued_messages"), legend)).stepped(),
	}
}

// ahead says how the context grows and how far the compaction is.
func ahead() []Panel {
	return []Panel{
		row("Forecast"),
		curves(24, "Replies left", "Replies of the model until the context reaches its compaction threshold, and the bounds between which they lie four times out of five. No curve: unknown.", unitCount,
			over(sessions("agent_session_forecast_replies"), "likely "+legend), over(sessions("agent_session_forecast_replies_low"), "at least "+legend),
			over(sessions("agent_session_forecast_replies_high"), "at most "+legend)),
		curves(8, "Turns left", "Turns until the context reaches its compaction threshold, if it goes on to grow as it has. No curve: unknown.", unitCount,
			over(sessions("agent_session_forecast_turns"), legend)),
		curves(8, "Work left", "The same in seconds of work; waiting for somebody is no work.", unitSeconds,
			over(sessions("agent_session_forecast_seconds"), legend)),
		curves(8, "Growth", "Tokens that the context gains a second, over the time between two points; a compaction is no growth.", unitCount,
			over("clamp_min(deriv("+sessions("agent_session_context_tokens")+"[$__rate_interval]), 0)", legend)),
	}
}

// sources say whether the figures can be believed.
func sources() []Panel {
	return []Panel{
		row("Do the sources agree"),
		curves(8, "Share of the window", "By the transcript and by the status line; they agree within a point.", unitRatio,
			over(sessions("agent_session_context_ratio"), "transcript "+legend), over(sessions("agent_session_statusline_ratio"), "status line "+legend)),
		curves(8, "Drift", "How many tokens more the status line tells than the transcript; 0 while they agree.", unitCount,
			over(sessions("agent_session_drift_tokens"), legend)).signed(),
		curves(8, "Age of the newest figure, by source", "Time since a source last told something.", unitSeconds,
			over("time() - "+sessions("agent_session_sample_timestamp_seconds"), "{{source}} "+legend),
			over("time() - "+sessions("agent_session_last_activity_timestamp_seconds"), "any activity "+legend)),
		curves(12, "Cost", "What the client reckons that the session has cost so far, in US dollars. No curve without a status line.", unitDollars,
			over(sessions("agent_session_cost_usd"), legend)),
		curves(12, "Cache hits", "Share of all input that was read from the cache.", unitRatio,
			over(sessions("agent_session_cache_hit_ratio"), legend)),
	}
}

// around is what only the observer as a whole tells.
func around() []Panel {
	return []Panel{
		row("All sessions of this observer"),
		curves(8, "Notices, by kind", "What the policy decided to say, in the hour before; of all sessions of the observer.", unitCount,
			over(lastHour("kind", observers("sm_notices_total")), "{{kind}}")).stacked(),
		curves(8, "Tokens a second, by kind", "Tokens of API messages, each counted once; subagents and all sessions of the observer included.", unitCount,
			over(rate("kind", observers("agent_tokens_total")), "{{kind}}")).stacked(),
		curves(8, "Queue", "Messages to agents that have not ended; of all sessions of the observer.", unitCount,
			over("sum by (instance, host) ("+observers("sm_queue_messages")+")", "{{instance}} {{host}}")).stepped(),
	}
}
