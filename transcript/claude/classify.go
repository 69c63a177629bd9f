package claude

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"sm/transcript"
	"sm/transcript/jsonwalk"
	"sm/transcript/wording"
)

const (
	// digestBytes is the minimum length of a summary that proves a common
	// origin.
	digestBytes = 200
	// synthetic is the model in records that the client writes by itself, for
	// example for API errors: they have no cost and no context size.
	synthetic = "<synthetic>"
)

// noLeaf is the leaf of a conversation that was rewound to its beginning.
const noLeaf = "00000000-0000-0000-0000-000000000000"

// notPrompts are the prefixes of user records that the client writes around
// commands. They are no prompts, though some lack isMeta.
var notPrompts = [...]string{
	"<command-name>",
	"<command-message>",
	"<local-command-",
	"<bash-",
}

// cleared is near the beginning of the first record of a session that began
// with /clear.
const cleared = "<command-name>/clear</command-name>"

// classify sets the kind of the record, after all its fields have been read.
func (r *record) classify(w *walker, line []byte, e *transcript.Entry) {
	e.Side = r.sidechain
	e.CWD = w.Decode(r.cwd)
	e.Version = w.Decode(r.version)
	e.SessionID = w.Decode(r.session)
	e.Branch = w.Decode(r.branch)
	kind := w.Decode(r.kind)
	e.Calls = ownCalls(kind, e.Calls)
	switch string(kind) {
	case "assistant":
		r.reading(w, e)
	case "system":
		switch string(w.Decode(r.subtype)) {
		case "compact_boundary":
			r.boundary(w, e)
		case "turn_duration":
			e.Kind = transcript.KindTurnEnd
		case "informational":
			// Clients since 2.1.299 write it after they have compacted an idle
			// conversation, or used a summary that they wrote while the user
			// was away.
			content := w.Decode(r.queued)
			if bytes.HasPrefix(content, []byte("Compacted while idle")) ||
				bytes.HasPrefix(content, []byte("Compacted using a summary written while you were away")) {
				e.Kind = transcript.KindIdleNotice
			}
		case "agents_killed", "api_error", "away_summary", "bridge_status", "checkpoint_done",
			"file_attachments_missing", "file_snapshot", "instruction_size_warning", "local_command",
			"memory_saved", "microcompact_boundary", "model_consent_fallback", "model_fallback",
			"model_refusal_fallback", "model_refusal_no_fallback", "peer_message_hold",
			"permission_retry", "placed", "read_divider", "rewind_stand_in",
			"scheduled_task_fire", "stop_hook_summary":
		default:
			w.unknown.Add(transcript.UnknownSubtype, w.Decode(r.subtype))
		}
	case "user":
		r.user(w, line, e)
	case "summary":
		e.Kind = transcript.KindTitle
		e.Parent = w.key(r.leaf)
		e.Title = w.Decode(r.summed)
		e.Titled = transcript.TitleSummary
	case "custom-title":
		e.Title = w.Decode(r.custom)
		e.Titled = transcript.TitleCustom
	case "ai-title":
		e.Title = w.Decode(r.generated)
		e.Titled = transcript.TitleGenerated
	case "attachment":
		if string(w.Decode(r.attachment)) == "hook_additional_context" {
			e.Kind = transcript.KindContext
			// One string a line. Several hooks may have answered at once: if
			// there are texts of sm itself, only those count.
			all := jsonwalk.Texts(r.attached.Bytes(line), "")
			if slices.ContainsFunc(all, wording.IsOurs) {
				all = slices.DeleteFunc(all, func(s []byte) bool { return !wording.IsOurs(s) })
			}
			e.Text = wording.Clip(jsonwalk.Lines(all))
		}
	case "last-prompt":
		if r.explicit && string(w.Decode(r.leaf)) == noLeaf {
			e.Kind = transcript.KindRewind
		}
	case "queue-operation":
		if s := unwrap(w.Decode(r.queued)); wording.IsOurs(s) &&
			string(w.Decode(r.operation)) == "enqueue" {
			e.Kind = transcript.KindContext
			e.Text = wording.Clip(s)
		}
	case "continued-in":
		if id := w.Decode(r.continued); len(id) == uuidLength {
			e.Kind = transcript.KindContinued
			e.Text = string(id)
		}
	case "progress", "file-history-snapshot", "file-history-delta", "permission-mode", "mode",
		"agent-color", "agent-name", "agent-setting", "api-request", "api-request-blob",
		"api-request-resumed", "api-request-shape", "artifact-autoreact-ledger",
		"artifact-comment-monitor", "atis-latch", "attribution-snapshot", "bridge-session",
		"content-replacement", "cost-state", "data-flow-incomplete",
		"data-flow-records", "derived-from", "dev-mods", "ended-by-model", "fork-context-ref",
		"frame-link", "history-suppression", "host-row", "hybrid-organization",
		"isolation-latch", "memory-mode", "observer-ref", "pr-link", "relocated", "repl-mode",
		"resume-head-vouch", "session-owner", "tag", "tools-used", "worktree-state":
	default:
		w.unknown.Add(transcript.UnknownRecord, kind)
	}
	if e.Kind != transcript.KindOther {
		e.UUID = w.key(r.uuid)
		e.Origin = w.key(r.origin)
	}
}

func (r *record) reading(w *walker, e *transcript.Entry) {
	e.Model = w.Decode(r.model)
	if r.usage.context > 0 && !r.apiError && string(e.Model) != synthetic {
		e.Kind = transcript.KindReading
		e.Message = w.key(r.id)
		e.Usage = r.usage.total
		e.Context = r.usage.context
		e.Parent = w.key(r.parent)
		e.Cleared = r.clearing.tokens()
		e.Partial = !r.clearing.reported && r.stop.None()
	}
}

func (r *record) boundary(w *walker, e *transcript.Entry) {
	e.Kind = transcript.KindBoundary
	e.Anchor = cmp.Or(w.key(r.segment), w.key(r.preserved))
	e.Marker = r.instantly && r.duration == 0 && !r.preserved.None() &&
		string(w.Decode(r.preserved)) == string(w.Decode(r.uuid))
	e.PreTokens = r.pre
	e.Precomputed = r.precomputed
	if !r.precomputed { // otherwise it is the time taken to insert the summary
		e.Duration = time.Duration(r.duration) * time.Millisecond
	}
	e.Trigger = transcript.TriggerOf(string(w.Decode(r.trigger)))
}

// user distinguishes summaries, prompts and other user records.
func (r *record) user(w *walker, line []byte, e *transcript.Entry) {
	if !r.summary && !r.prompt {
		return
	}
	e.Parent = w.key(r.parent)
	source := string(w.Decode(r.source))
	outside := source == "peer" || source == "plugin" // a message of another session or of a plugin
	if !r.summary && r.meta && !outside && r.turn <= 0 {
		e.Kind = transcript.KindAside
		return
	}
	var body []byte
	if r.prompt {
		body = jsonwalk.Lines(jsonwalk.Texts(r.content.Bytes(line), "text"))
	}
	if r.summary {
		e.Kind = transcript.KindSummary
		e.Trigger = transcript.Unknown
		if len(body) >= digestBytes {
			e.Digest = transcript.KeyOf(body)
		}
		return
	}
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	for _, p := range notPrompts {
		if bytes.HasPrefix(trimmed, []byte(p)) {
			if bytes.Contains(trimmed[:min(len(trimmed), 100)], []byte(cleared)) {
				e.Text = "/clear"
			}
			if p == "<bash-" && bytes.HasPrefix(e.Version, []byte("1.")) {
				e.Parent = 0 // always the first caveat of the process, which shows no rewind
			}
			e.Kind = transcript.KindAside
			return
		}
	}
	if bytes.HasPrefix(trimmed, []byte("[Request interrupted by user")) {
		e.Kind = transcript.KindTurnEnd
		return
	}
	e.Kind = transcript.KindTurnStart
	e.Turn = r.turn
	if r.meta || outside { // the client wraps this message in words of its own
		return
	}
	if own := unwrap(body); wording.IsOurs(own) {
		e.Text = wording.Clip(own)
	} else {
		e.Title = own
		e.Titled = transcript.TitlePrompt
	}
}

// unwrap removes the element in which clients since 2.1.328 wrap a long paste.
func unwrap(body []byte) []byte {
	rest, wrapped := bytes.CutPrefix(body, []byte("<pasted_content"))
	_, rest, whole := bytes.Cut(rest, []byte(">"))
	if !wrapped || !whole {
		return body
	}
	rest, _, _ = bytes.Cut(rest, []byte("</pasted_content>"))
	return bytes.TrimSpace(rest)
}

func (w *walker) key(t jsonwalk.Text) transcript.Key { return transcript.KeyOf(w.Decode(t)) }
