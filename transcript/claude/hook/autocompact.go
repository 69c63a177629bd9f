package hook

import (
	"maps"
	"slices"
)

// The bounds of AutoCompact.
const (
	maxSetting = 32 // bytes of a variable: it holds a number
	maxModels  = 16
)

// AutoCompact has a client's settings for automatic compaction, from its
// environment and its settings files.
type AutoCompact struct {
	// Off means that it compacts only on request.
	Off bool `json:"off,omitempty"`
	// Window, Percent and Output are CLAUDE_CODE_AUTO_COMPACT_WINDOW,
	// CLAUDE_AUTOCOMPACT_PCT_OVERRIDE and CLAUDE_CODE_MAX_OUTPUT_TOKENS,
	// unchanged, since their meaning depends on the client's version.
	Window  string `json:"window,omitempty" max:"32"`
	Percent string `json:"percent,omitempty" max:"32"`
	Output  string `json:"output,omitempty" max:"32"`
	// Setting is autoCompactWindow of the settings in tokens, Models those of
	// single models by name; 0 means the model's own window.
	Setting int64  `json:"setting,omitempty"`
	Models  Models `json:"models,omitempty"`
	// IdleOff is true when the setting idleCompaction is false. IdleMin is
	// CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS.
	IdleOff bool   `json:"idle_off,omitempty"`
	IdleMin string `json:"idle_min,omitempty" max:"32"`
}

// Models are the windows of models in tokens.
type Models map[string]int64

// add sets a model's window, up to maxModels models.
func (m *Models) add(model string, tokens int64) {
	if _, known := (*m)[model]; model == "" || len(model) > maxWord ||
		len(*m) >= maxModels && !known {
		return
	}
	if *m == nil {
		*m = Models{}
	}
	(*m)[model] = tokens
}

func (m *Models) set(raw []byte) {
	_ = members(raw, func(model string, raw []byte) { // another type has none
		if n, ok := whole(raw); ok {
			m.add(model, n)
		}
	})
}

// SetVariable sets one of the variables, unless the value is too long for a
// number.
func SetVariable(to *string, value string) {
	if len(value) <= maxSetting {
		*to = value
	}
}

// settings are the relevant members of a file of the client's settings.
type settings struct {
	Enabled *bool         `json:"autoCompactEnabled"`
	Idle    *bool         `json:"idleCompaction"`
	Window  *int64        `json:"autoCompactWindow"`
	Models  modelSettings `json:"modelSettings"`
}

// modelSettings are the settings of single models: "auto" means a model's own
// window.
type modelSettings map[string]int64

func (m *modelSettings) set(raw []byte) {
	*m = modelSettings{}
	_ = members(raw, func(model string, raw []byte) { // another type has none
		_ = members(raw, func(key string, raw []byte) {
			n, ok := whole(raw)
			if key == "autoCompactWindow" && (ok || string(raw) == `"auto"`) {
				(*m)[model] = n
			}
		})
	})
}

// AddSettings applies a file of the client's settings, which override those of
// files applied earlier. An invalid file has no settings.
func (a *AutoCompact) AddSettings(data []byte) {
	var s settings
	_ = Unmarshal(data, &s)
	if s.Enabled != nil {
		a.Off = !*s.Enabled
	}
	if s.Idle != nil {
		a.IdleOff = !*s.Idle
	}
	if s.Window != nil { // for all models, also those of earlier files
		a.Setting = *s.Window
		a.Models = nil
	}
	for _, model := range slices.Sorted(maps.Keys(s.Models)) {
		a.Models.add(model, s.Models[model])
	}
}
