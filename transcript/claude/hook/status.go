package hook

import (
	"math"
	"reflect"
	"slices"
	"strings"
)

// Figure is a value of the status line: absent, null, or known, which includes
// 0. The zero value is absent, and so is a member of another type.
type Figure[T comparable] struct {
	Value T
	Known bool
	Null  bool
}

// IsZero reports whether the member was absent.
func (f Figure[T]) IsZero() bool { return f == Figure[T]{} }

// MarshalJSON returns null for an unknown value; omitzero keeps absent members
// absent.
func (f Figure[T]) MarshalJSON() ([]byte, error) {
	if !f.Known {
		return []byte("null"), nil
	}
	return Marshal(f.Value), nil
}

func (f *Figure[T]) set(raw []byte) {
	*f = Figure[T]{Null: string(raw) == "null"}
	if !f.Null {
		f.Known = read(reflect.ValueOf(&f.Value).Elem(), raw, "")
	}
	if !f.Known {
		f.Value = *new(T)
	}
}

// Status is one report of the status line, as far as sm reads it.
type Status struct {
	SessionID string `json:"session_id,omitempty"`
	// SessionName is the user's name for the session, "" for none.
	SessionName    string `json:"session_name,omitempty" cut:"128"`
	TranscriptPath string `json:"transcript_path,omitempty" max:"4096"`
	CWD            string `json:"cwd,omitempty" max:"4096"`
	// Version is the client's.
	Version string `json:"version,omitempty"`
	// Model is the model's id. Unlike that of the transcript it may end with
	// [1m].
	Model       string `json:"model,omitempty" member:"id"`
	Workspace   `json:"workspace,omitzero"`
	Window      Window      `json:"context_window,omitzero"`
	Cost        Cost        `json:"cost,omitzero"`
	RateLimits  RateLimits  `json:"rate_limits,omitzero"`
	PromptCache PromptCache `json:"prompt_cache,omitzero"`
	SM          Origin      `json:"sm,omitzero"`
}

// Workspace is the member of that name: ProjectDir is the folder where the
// session began, CurrentDir its present one.
type Workspace struct {
	CurrentDir string `json:"current_dir,omitempty" max:"4096"`
	ProjectDir string `json:"project_dir,omitempty" max:"4096"`
}

// Window is the member context_window. The figures of total_ are about the
// context only since client 2.1.132; before, they are sums over the session,
// many times the window.
type Window struct {
	TotalInput Figure[int64] `json:"total_input_tokens,omitzero"`
	Size       Figure[int64] `json:"context_window_size,omitzero"`
	Usage      Figure[Usage] `json:"current_usage,omitzero"`
	// UsedPercentage is of the window, not the distance to compaction.
	UsedPercentage Figure[float64] `json:"used_percentage,omitzero"`
}

// Usage is the usage of the newest API message.
type Usage struct {
	Input         int64 `json:"input_tokens"`
	Output        int64 `json:"output_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
}

// read decodes a usage as a whole: with one invalid figure the sum would be
// wrong.
func (u *Usage) read(raw []byte) bool {
	figures := map[string]*int64{
		"input_tokens":                &u.Input,
		"output_tokens":               &u.Output,
		"cache_creation_input_tokens": &u.CacheCreation,
		"cache_read_input_tokens":     &u.CacheRead,
	}
	good := true
	err := members(raw, func(key string, raw []byte) {
		if to := figures[key]; to != nil {
			n, ok := whole(raw)
			*to = n
			good = good && (ok || string(raw) == "null")
		}
	})
	return err == nil && good
}

// DecodeStatus decodes a report, of the client or of Encode.
func DecodeStatus(data []byte) (s Status, err error) {
	err = Unmarshal(data, &s)
	return s, err
}

// Tokens returns the size of the context: all input of the newest message. It
// is unknown before the first answer and directly after a compaction, when
// clients write null, zeros, or nothing.
func (s *Status) Tokens() (n int64, known bool) {
	u := s.Window.Usage.Value
	n = u.Input + u.CacheCreation + u.CacheRead
	return n, n > 0
}

// Percent returns the share of the window in use, 1 to 100, as the client
// rounds it.
func (s *Status) Percent() (percent int, known bool) {
	p := s.Window.UsedPercentage
	if p.IsZero() { // of an old client
		if n, ok := s.Tokens(); ok && s.Window.Size.Value > 0 {
			p.Value = float64(n) / float64(s.Window.Size.Value) * 100
		}
	}
	percent = int(math.Round(min(p.Value, 100)))
	return percent, percent > 0
}

// Encode encodes the report in the form that the observer accepts: the members
// that sm reads, with hook_event_name StatusLine.
func (s Status) Encode() []byte {
	return Marshal(struct { // six paths of 4 KiB at most, without control characters: it fits
		Event Event `json:"hook_event_name"`
		Status
	}{StatusLine, s})
}

// StatusAnswer is the observer's answer to a report, if there is one: the line
// to show in place of the plain figure.
type StatusAnswer struct {
	Line string `json:"line"`
}

// WrappedCommand returns the status line that `sm install` found: the arguments
// after --, one word unless a person wrote them.
func WrappedCommand(args []string) (command string, wraps bool) {
	i := slices.Index(args, "--")
	if i < 0 || i+1 >= len(args) {
		return "", false
	}
	return strings.Join(args[i+1:], " "), true
}
