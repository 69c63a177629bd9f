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
	// CLAUDE_AUTOCOMPACT_PCT_OVERRIDE and CLAUDE_CODE_MAX_OUTPUT_TOKENS as they stand
	// there: what they mean depends on the client's version.
	Window  string `json:"window,omitempty"`
	Percent string `json:"percent,omitempty"`
	Output  string `json:"output,omitempty"`
	// Setting is autoCompactWindow of the settings in tokens, Models those of single
	// models by name; 0 means a model's own window.
	Setting int64            `json:"setting,omitempty"`
	Models  map[string]int64 `json:"models,omitempty"`
	// IdleOff is true when the setting idleCompaction is false. IdleMin is
	// CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS.
	IdleOff bool   `json:"idle_off,omitempty"`
	IdleMin string `json:"idle_min,omitempty"`
}

// IsZero reports whether there are no settings.
func (a AutoCompact) IsZero() bool {
	return !a.Off && a.Window == "" && a.Percent == "" && a.Output == "" && a.Setting == 0 && len(a.Models) == 0 &&
		!a.IdleOff && a.IdleMin == ""
}

// SetVariable sets one of the variables, unless it cannot be a number.
func SetVariable(to *string, value string) {
	if len(value) <= maxSetting {
		*to = value
	}
}

// SetModel adds a model's window, as long as there are not too many.
func (a *AutoCompact) SetModel(model string, tokens int64) {
	if _, known := a.Models[model]; model == "" || len(model) > maxWord || len(a.Models) >= maxModels && !known {
		return
	}
	if a.Models == nil {
		a.Models = map[string]int64{}
	}
	a.Models[model] = tokens
}

// AddSettings takes in a file of the client's settings, which goes before those that were
// taken in earlier. A file that is broken says nothing.
func (a *AutoCompact) AddSettings(data []byte) {
	var enabled, idle *bool
	var window *int64
	models := map[string]int64{}
	err := Members(data, func(key string, raw []byte) {
		switch key {
		case "autoCompactEnabled":
			if on, ok := boolean(raw); ok {
				enabled = &on
			}
		case "idleCompaction":
			if on, ok := boolean(raw); ok {
				idle = &on
			}
		case "autoCompactWindow":
			window = known(Whole(raw))
		case "modelSettings":
			_ = Members(raw, func(model string, raw []byte) { // what is no object has none
				if n, ok := modelWindow(raw); ok {
					models[model] = n
				}
			})
		}
	})
	if err != nil {
		return
	}
	if enabled != nil {
		a.Off = !*enabled
	}
	if idle != nil {
		a.IdleOff = !*idle
	}
	if window != nil { // for all models, whatever files before this one say
		a.Setting = *window
		a.Models = nil
	}
	for _, model := range slices.Sorted(maps.Keys(models)) {
		a.SetModel(model, models[model])
	}
}

// modelWindow reads what the settings say of one model: "auto" is its own window.
func modelWindow(raw []byte) (tokens int64, ok bool) {
	_ = Members(raw, func(key string, raw []byte) { // what is no object has none
		if key == "autoCompactWindow" {
			if tokens, ok = Whole(raw); !ok {
				ok = string(raw) == `"auto"`
			}
		}
	})
	return tokens, ok
}

func (a *AutoCompact) set(key string, raw []byte) {
	switch key {
	case "off":
		a.Off, _ = boolean(raw)
	case "window":
		a.Window = Word(raw, maxSetting)
	case "percent":
		a.Percent = Word(raw, maxSetting)
	case "output":
		a.Output = Word(raw, maxSetting)
	case "idle_off":
		a.IdleOff, _ = boolean(raw)
	case "idle_min":
		a.IdleMin = Word(raw, maxSetting)
	case "setting":
		a.Setting, _ = Whole(raw)
	case "models":
		_ = Members(raw, func(model string, raw []byte) { // what is no object has none
			if n, ok := Whole(raw); ok {
				a.SetModel(model, n)
			}
		})
	}
}
