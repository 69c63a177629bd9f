package metrics

// help has the names and help texts of all families but those of the registry.
const help = `agent_clear_reads_total
	Calls that read a file in the 25 replies after a clear, since the state directory was
	made.

agent_clear_reread_tokens_total
	Tokens by which contexts grew by files read again in the 25 replies after a clear, since
	the state directory was made.

agent_clear_rereads_total
	Calls that read a file which the agent had read before in the 25 replies after a clear,
	since the state directory was made.

agent_compaction_attempts_total
	Compactions that clients set out to make, by their hooks, since the state directory was
	made.

agent_compaction_duration_seconds
	Duration of compactions since the state directory was made, where the transcript has
	it.

agent_compaction_pre_tokens
	Context size before compactions since the state directory was made.

agent_compaction_reads_total
	Calls that read a file in the 25 replies after a compaction, since the state directory
	was made.

agent_compaction_reread_tokens_total
	Tokens by which contexts grew by files read again in the 25 replies after a compaction,
	since the state directory was made.

agent_compaction_rereads_total
	Calls that read a file which the agent had read before in the 25 replies after a
	compaction, since the state directory was made.

agent_compaction_storms_total
	Storms of compactions, each counted once.

agent_compactions_total
	Compactions since the state directory was made, each counted once.

agent_cost_usd_total
	What clients reckon that their sessions have cost since the state directory was made, in
	US dollars, by the status line; a resumed session's old cost counts once.

agent_handoff_reads_total
	Calls that read a file in the 25 replies after a handoff, since the state directory was
	made.

agent_handoff_reread_tokens_total
	Tokens by which contexts grew by files read again in the 25 replies after a handoff,
	since the state directory was made.

agent_handoff_rereads_total
	Calls that read a file which the agent had read before in the 25 replies after a
	handoff, since the state directory was made.

agent_rate_limit_reset_timestamp_seconds
	When the window of that rate limit ends.

agent_rate_limit_used_ratio
	Share of the account's rate limit that is used, 0 to 1, by the newest report of a status
	line, or record of Codex; absent without one, and once the window has passed.

agent_session_active
	1 while the session's client runs, or it did something in the last 10 minutes and is not
	known to have ended.

agent_session_cache_expires_timestamp_seconds
	When the newest entry of the session's prompt cache expires, by the status line; absent
	while unknown.

agent_session_cache_hit_ratio
	Share of all input that was read from the cache, 0 to 1: by the status line, else by the
	transcript's tokens; absent while unknown.

agent_session_cleared_tokens
	Tokens of tool results that were left out of the newest request, and that count besides
	the context on the way to the compaction threshold; absent for none, and while the
	threshold is unknown.

agent_session_compacting
	1 while the client compacts.

agent_session_compaction_threshold_tokens
	Context size at which the client compacts by itself, and where that is from: configured,
	seen, assumed, refusal (when the API refuses a request), earliest (assumed, it may be
	later); absent while unknown.

agent_session_compactions_total
	Compactions of the session since the state directory was made.

agent_session_context_ratio
	Share of the context window in use, 0 to 1, by the transcript; absent while unknown.

agent_session_context_tokens
	Tokens in the context at the newest reply; absent while unknown, as after a compaction.

agent_session_context_window_tokens
	Size of the context window.

agent_session_cost_usd
	What the client reckons that the session has cost, in US dollars, by the status line;
	absent without one.

agent_session_cycle
	Number of the session's present cycle, the stretch between two compactions, clears or
	handoffs of its agent.

agent_session_dear_compactions
	How many of the session's newest compactions in a row were followed by rereads of more
	tokens than after nine of ten compactions.

agent_session_drift_tokens
	How many tokens more the status line reports than the transcript; absent while there is
	nothing to compare.

agent_session_estimated_cost_usd
	What the tokens of the session and its subagents cost by the configured prices, in US
	dollars; absent without prices, and where the client reports the cost.

agent_session_forecast_replies
	Replies of the model until the context reaches the compaction threshold, if it goes on
	to grow as it has; absent while unknown.

agent_session_forecast_replies_high
	Upper bound of agent_session_forecast_replies: four times out of five the replies lie
	between the bounds.

agent_session_forecast_replies_low
	Lower bound of agent_session_forecast_replies: four times out of five the replies lie
	between the bounds.

agent_session_forecast_seconds
	The same in seconds of work.

agent_session_forecast_turns
	Turns until the context reaches the compaction threshold, if it goes on to grow as it
	has; absent while unknown.

agent_session_info
	What is known of a session besides figures; always 1.

agent_session_last_activity_timestamp_seconds
	When the session was last seen to do something: time of its newest record or of its
	file, whichever is later.

agent_session_level
	1 for the level that the context has reached, 0 for the others.

agent_session_pressure_ratio
	Share of the compaction threshold that context and cleared tool results have reached,
	above 1 for a client that is late; absent while either is unknown.

agent_session_queued_messages
	Messages to the session's agent that have not ended; absent for none.

agent_session_reachable
	1 while notices can reach the session's agent: a hook of the session was seen, the pane
	is registered, or its client has a queue.

agent_session_sample_timestamp_seconds
	When a source last reported the session's context: time of its newest reading, report or
	hook.

agent_session_state
	What the session does: busy, idle, waiting, shell, quiet, ended, other; always 1.

agent_session_statusline_ratio
	Share of the context window in use, 0 to 1, by the status line; absent while it is
	unknown.

agent_session_transcript_compactions
	Compactions of the session that its transcript holds, without those copied from another
	session.

agent_tokens_total
	Tokens of API messages since the state directory was made, each message counted once;
	subagents included.

sm_build_info
	What this observer was built from; always 1.

sm_config_last_reload_success_timestamp_seconds
	When the configuration was last read and held; the start counts.

sm_config_last_reload_successful
	1 while the newest configuration is in effect, 0 after one that does not hold.

sm_handoffs_total
	Handoffs that have ended, by outcome, and calls that were turned away: refused, by the
	breaker, or as futile.

sm_hook_events_total
	Hooks of clients, by event; StatusLine is a report of the status line.

sm_messages_total
	Messages to agents that have ended, by the last way of delivery and by outcome.

sm_notices_total
	Notices, by what they are about; one that goes to several counts once.

sm_queue_messages
	Messages to agents that have not ended.

sm_read_lag_bytes
	Bytes of live transcripts not read yet, as of the last check.

sm_reminders_total
	Reminders that were due, by outcome.

sm_sessions_unexported
	Sessions beyond metrics.max_sessions, which have no series here.

sm_transcript_bytes_total
	Bytes of transcript lines read, history included.

sm_transcript_lines_total
	Transcript lines read, history included; bad ones are no JSON objects.

sm_transcript_unknown_total
	Records, subtypes and usage members in transcripts whose names are unknown, since the
	observer's start; their names are logged at the level debug.

sm_transcripts
	Transcript files known, by how they are watched.`
