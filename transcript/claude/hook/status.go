package hook

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Figure is a value as the status line gives it: absent, null, or known, which may be
// 0. The zero value is absent, and so is a member of another type.
type Figure[T comparable] struct {
	Value T
	Known bool
	Null  bool
}

// IsZero reports whether the member was absent.
func (f Figure[T]) IsZero() bool { return f == Figure[T]{} }

// MarshalJSON writes null for what is not known; omitzero keeps absent members absent.
func (f Figure[T]) MarshalJSON() ([]byte, error) {
	if !f.Known {
		return []byte("null"), nil
	}
	return Marshal(f.Value), nil
}

func figureOf[T comparable](raw []byte, read func([]byte) (T, bool)) Figure[T] {
	if v, ok := read(raw); ok {
		return Figure[T]{Value: v, Known: true}
	}
	return Figure[T]{Null: string(raw) == "null"}
}

// Status is one report of the status line.
type Status struct {
	SessionID string
	// SessionName is what the user calls the session, "" for none.
	SessionName    string
	TranscriptPath string
	CWD            string
	PromptID       string
	// Version is the client's.
	Version string
	// Model is the model's id. Unlike the transcript's it may end with [1m].
	Model string
	// ProjectDir is where the session began, CurrentDir where it is now.
	ProjectDir, CurrentDir string
	Window                 Window
	Cost                   Cost
	RateLimits             RateLimits
	PromptCache            PromptCache
	Exceeds200k            Figure[bool]
	SM                     Origin
}

// Window is the member context_window. The figures of total_ are about the context
// only since client 2.1.132; before, they are sums over the session, many times the
// window.
type Window struct {
	TotalInput  Figure[int64] `json:"total_input_tokens,omitzero"`
	TotalOutput Figure[int64] `json:"total_output_tokens,omitzero"`
	Size        Figure[int64] `json:"context_window_size,omitzero"`
	Usage       Figure[Usage] `json:"current_usage,omitzero"`
	// UsedPercentage is of the window, not the distance to compaction.
	UsedPercentage Figure[float64] `json:"used_percentage,omitzero"`
}

// Usage is what the newest API message used.
type Usage struct {
	Input         int64 `json:"input_tokens"`
	Output        int64 `json:"output_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
}

// DecodeStatus reads a report, from the client or from the wire.
func DecodeStatus(data []byte) (s Status, err error) {
	if err = Members(data, s.set); err != nil {
		return Status{}, fmt.Errorf("status line: %w", err)
	}
	return s, nil
}

func (s *Status) set(key string, raw []byte) {
	switch key {
	case "session_id":
		s.SessionID = Word(raw, maxWord)
	case "session_name":
		s.SessionName = text(raw, maxWord)
	case "transcript_path":
		s.TranscriptPath = Word(raw, maxPath)
	case "cwd":
		s.CWD = Word(raw, maxPath)
	case "prompt_id":
		s.PromptID = Word(raw, maxWord)
	case "version":
		s.Version = Word(raw, maxWord)
	case "model":
		s.Model = modelOf(raw)
	case "workspace":
		var w workspace
		_ = decode(&w, raw, w.set)
		s.ProjectDir = w.ProjectDir
		s.CurrentDir = w.CurrentDir
	case "context_window":
		_ = decode(&s.Window, raw, s.Window.set)
	case "cost":
		_ = decode(&s.Cost, raw, s.Cost.set)
	case "rate_limits":
		_ = decode(&s.RateLimits, raw, s.RateLimits.set)
	case "prompt_cache":
		_ = decode(&s.PromptCache, raw, s.PromptCache.set)
	case "exceeds_200k_tokens":
		s.Exceeds200k = figureOf(raw, boolean)
	case "sm":
		_ = decode(&s.SM, raw, s.SM.set)
	}
}

// workspace is the member of that name, as far as we read it.
type workspace struct {
	CurrentDir string `json:"current_dir,omitempty"`
	ProjectDir string `json:"project_dir,omitempty"`
}

func (w *workspace) set(key string, raw []byte) {
	switch key {
	case "project_dir":
		w.ProjectDir = Word(raw, maxPath)
	case "current_dir":
		w.CurrentDir = Word(raw, maxPath)
	}
}

func (w *Window) set(key string, raw []byte) {
	switch key {
	case "total_input_tokens":
		w.TotalInput = figureOf(raw, Whole)
	case "total_output_tokens":
		w.TotalOutput = figureOf(raw, Whole)
	case "context_window_size":
		w.Size = figureOf(raw, Whole)
	case "used_percentage":
		w.UsedPercentage = figureOf(raw, numberOf)
	case "current_usage":
		w.Usage = figureOf(raw, usageOf)
	}
}

// usageOf reads a usage as a whole: with one figure odd, the sum would be wrong.
func usageOf(raw []byte) (u Usage, ok bool) {
	ok = true
	err := Members(raw, func(key string, raw []byte) {
		var to *int64
		switch key {
		case "input_tokens":
			to = &u.Input
		case "output_tokens":
			to = &u.Output
		case "cache_creation_input_tokens":
			to = &u.CacheCreation
		case "cache_read_input_tokens":
			to = &u.CacheRead
		default:
			return
		}
		n, isNumber := Whole(raw)
		*to = n
		ok = ok && (isNumber || string(raw) == "null")
	})
	if err != nil || !ok {
		return Usage{}, false
	}
	return u, true
}

// Tokens is the size of the context: all input of the newest message. It is unknown
// before the first answer and right after a compaction, which clients write as null,
// as zeros, or not at all.
func (s *Status) Tokens() (n int64, known bool) {
	u := s.Window.Usage.Value
	n = u.Input + u.CacheCreation + u.CacheRead
	return n, n > 0
}

// Percent is the share of the window in use, 1 to 100, as the client rounds it.
func (s *Status) Percent() (percent int, known bool) {
	p := s.Window.UsedPercentage
	if p.IsZero() { // old clients leave the division to us
		if n, ok := s.Tokens(); ok && s.Window.Size.Value > 0 {
			p.Value = float64(n) / float64(s.Window.Size.Value) * 100
		}
	}
	percent = int(math.Round(min(p.Value, 100)))
	return percent, percent > 0
}

// Encode writes the report as the observer takes it: what the client said, as far as
// we read it, with hook_event_name StatusLine.
func (s Status) Encode() []byte {
	type model struct {
		ID string `json:"id"`
	}
	wire := struct {
		Event          Event        `json:"hook_event_name"`
		SessionID      string       `json:"session_id,omitempty"`
		SessionName    string       `json:"session_name,omitempty"`
		TranscriptPath string       `json:"transcript_path,omitempty"`
		CWD            string       `json:"cwd,omitempty"`
		PromptID       string       `json:"prompt_id,omitempty"`
		Version        string       `json:"version,omitempty"`
		Model          model        `json:"model,omitzero"`
		Workspace      workspace    `json:"workspace,omitzero"`
		Window         Window       `json:"context_window,omitzero"`
		Cost           Cost         `json:"cost,omitzero"`
		RateLimits     RateLimits   `json:"rate_limits,omitzero"`
		PromptCache    PromptCache  `json:"prompt_cache,omitzero"`
		Exceeds200k    Figure[bool] `json:"exceeds_200k_tokens,omitzero"`
		SM             Origin       `json:"sm,omitzero"`
	}{
		StatusLine, s.SessionID, s.SessionName, s.TranscriptPath, s.CWD, s.PromptID, s.Version,
		model{s.Model}, workspace{
			s.CurrentDir,
			s.ProjectDir,
		}, s.Window, s.Cost, s.RateLimits, s.PromptCache, s.Exceeds200k, s.SM,
	}
	return Marshal(wire) // six paths of 4 KiB at most, without control characters: it fits
}

// StatusAnswer is the observer's answer to a report, where there is one: what to show instead of
// the plain figure.
type StatusAnswer struct {
	Line string `json:"line"`
}

// WrappedCommand is the status line that `sm install` found: what stands after --, one word unless a person wrote it.
func WrappedCommand(args []string) (command string, wraps bool) {
	i := slices.Index(args, "--")
	if i < 0 || i+1 >= len(args) {
		return "", false
	}
	return strings.Join(args[i+1:], " "), true
}
