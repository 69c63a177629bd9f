// Package config reads the configuration: defaults, then the file, the
// environment and flags, each overriding the one before.
//
// The type Config and its tags are the one list of keys. A loaded configuration
// is valid. An error is one line that names the file, the variable or the flag,
// and the remedy.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/dashboards/page"
	"sm/dashboards/screen/plain"
	"sm/handoff"
	"sm/handoff/files"
	"sm/handoff/guard"
	"sm/observer/alertmanager"
	"sm/transcript"
)

// Config is the whole configuration. The tags of this type, and of the types with
// the settings of other packages, are the only list of keys: the keys of the file,
// the environment variables, defaults, bounds, the hints for mistyped keys and the
// output of `check-config --print` are derived from them.
//
//	default  in the form of a variable; else 0, false, "" or an empty list
//	bounds   "1..100", ">0..1", or "5s.." and ">0" for a duration, which is at most ten years
//	below    a key of the same group that must be larger, unless that is 0
//	oneof    the valid values
//	is       the kind of a text, or of each entry of a list: see problem
//	required the path must not be empty; without this tag "" is the default, or none
//	unique   no two entries of the list may be equal
//	flag     a flag of this name sets it
//	apply    "restart": it takes effect when an observer starts; the others can change while it runs
type Config struct {
	Projects []string `yaml:"projects" is:"path" required:"true" apply:"restart" flag:"true"`
	Listen   []string `yaml:"listen" is:"loopback" default:"127.0.0.1:8420,[::1]:8420" apply:"restart" flag:"true"`
	Socket   string   `yaml:"socket" is:"path" apply:"restart" flag:"true"`
	State    string   `yaml:"state" is:"path" apply:"restart" flag:"true"`
	Log      struct {
		Level  string `yaml:"level" default:"info" oneof:"debug,info,warn,error"`
		Format string `yaml:"format" default:"text" oneof:"text,json" apply:"restart"`
	} `yaml:"log"`
	HTTP struct {
		AllowedHosts     []string `yaml:"allowed_hosts" is:"host"`
		AllowedUIDs      []int    `yaml:"allowed_uids" bounds:"0..4294967294"`
		WebhookTokenFile string   `yaml:"webhook_token_file" is:"path"`
	} `yaml:"http"`
	Metrics struct {
		Listen        string        `yaml:"listen" is:"address" apply:"restart"`
		WebConfigFile string        `yaml:"web_config_file" is:"path" apply:"restart"`
		SessionTTL    time.Duration `yaml:"session_ttl" default:"1h" bounds:">0"`
		MaxSessions   int           `yaml:"max_sessions" default:"500" bounds:"1..1000000"`
		Project       bool          `yaml:"project" default:"true"`
	} `yaml:"metrics"`
	Alertmanager alertmanager.Options    `yaml:"alertmanager"`
	Prometheus   []page.Server           `yaml:"prometheus" apply:"restart"`
	Windows      []transcript.WindowRule `yaml:"windows"`
	Cost         struct {
		Prices transcript.Prices `yaml:"prices"`
	} `yaml:"cost"`
	Compaction struct {
		ThresholdTokens int64         `yaml:"threshold_tokens" bounds:"0..1000000000"`
		Settle          time.Duration `yaml:"settle" default:"5m" bounds:">0"`
	} `yaml:"compaction"`
	ContextMonitor struct {
		Enabled           bool `yaml:"enabled" default:"true"`
		alerts.Thresholds `yaml:",inline"`
		Estimate          bool          `yaml:"estimate"`
		ForecastReplies   int           `yaml:"forecast_replies" bounds:"0..1000000"`
		ForecastTurns     int           `yaml:"forecast_turns" bounds:"0..1000000"`
		NoDataAfter       time.Duration `yaml:"no_data_after" default:"10m"`
	} `yaml:"context_monitor"`
	Storm     alerts.Storm     `yaml:"storm"`
	Reminders alerts.Reminders `yaml:"reminders"`
	Queue     outbox.Options   `yaml:"queue"`
	Delivery  struct {
		TypeTexts bool `yaml:"type_texts"`
	} `yaml:"delivery"`
	Handoff struct {
		Directory     string        `yaml:"directory" is:"path" apply:"restart"`
		Expiry        time.Duration `yaml:"expiry" default:"2h" bounds:">0"`
		AutoDocument  bool          `yaml:"auto_document"`
		AutoRotate    bool          `yaml:"auto_rotate"`
		BreakerCount  int           `yaml:"breaker_count" default:"3" bounds:"1..1000000"`
		BreakerWithin time.Duration `yaml:"breaker_within" default:"15m" bounds:">0"`
		DocumentBytes int64         `yaml:"document_bytes" default:"262144" bounds:"1..16777216"`
		// Above 10,000 characters the client turns a hook's answer into a file.
		InjectCharacters int `yaml:"inject_characters" default:"9500" bounds:"1..10000"`
	} `yaml:"handoff"`
	Channels []handoff.Channel `yaml:"channels"`
	Guard    struct {
		Enabled     bool `yaml:"enabled"`
		guard.Guard `yaml:",inline"`
	} `yaml:"guard"`
	Supervise struct {
		Restarts  int           `yaml:"restarts" default:"10" bounds:"0..1000000"`
		TermAfter time.Duration `yaml:"term_after" default:"10s"`
	} `yaml:"supervise"`
	Operator struct {
		Notify      []string      `yaml:"notify" is:"argument"`
		Compactions bool          `yaml:"compactions" default:"true"`
		Waiting     time.Duration `yaml:"waiting"`
	} `yaml:"operator"`
	Messages struct {
		alerts.Messages `yaml:",inline"`
		Resume          string `yaml:"resume" is:"template"`
		Rereads         bool   `yaml:"rereads" default:"true"`
	} `yaml:"messages"`
}

// Default returns the default configuration. testdata/defaults.yaml is the
// published list of the values.
func Default() *Config {
	c, err := Parse(
		"",
		nil,
		new(pflag.FlagSet),
		func(string) (string, bool) { return "", false },
	)
	if err != nil {
		panic(err) // the tags of Config are wrong
	}
	return c
}

// A setting is one key of the configuration, or one value in the list of a key.
type setting struct {
	path  string // as in the file: storm.count, windows[0].tokens
	value reflect.Value
	tag   reflect.StructTag
	group reflect.Value // the struct of the key
}

// settings returns every key of a configuration, in the order of the fields.
// The values can be changed through it.
func (c *Config) settings() []setting {
	return setting{
		value: reflect.ValueOf(c).Elem(),
	}.keys()
}

// keys returns the keys of a group, or the setting itself if it is not a group.
func (s setting) keys() (all []setting) {
	if s.value.Kind() != reflect.Struct {
		return []setting{s}
	}
	for field, value := range s.value.Fields() {
		name := field.Tag.Get("yaml")
		if name == "-" {
			continue
		}
		key := s
		if !field.Anonymous {
			key.path = strings.TrimPrefix(s.path+"."+name, ".")
		}
		key.value = value
		key.tag = field.Tag
		key.group = s.value
		all = append(all, key.keys()...)
	}
	return all
}

// values returns the setting itself, or the values in its list.
func (s setting) values() (all []setting) {
	if s.value.Kind() != reflect.Slice {
		return []setting{s}
	}
	for i := range s.value.Len() {
		entry := s
		entry.path = fmt.Sprintf("%s[%d]", s.path, i)
		entry.value = s.value.Index(i)
		all = append(all, entry.keys()...)
	}
	return all
}

// Keep copies the values of the keys that take effect only at a start from the
// configuration of the running observer, and returns the keys that differ.
func (c *Config) Keep(running *Config) (restart []string) {
	old := running.settings()
	for i, s := range c.settings() {
		if s.tag.Get("apply") == "restart" &&
			!reflect.DeepEqual(s.value.Interface(), old[i].value.Interface()) {
			restart = append(restart, s.path)
			s.value.Set(old[i].value)
		}
	}
	return restart
}

// Changed returns the values that differ from the default, by key.
func (c *Config) Changed() map[string]any {
	keys := map[string]any{}
	usual := Default().settings()
	for i, s := range c.settings() {
		if value := s.value.Interface(); !reflect.DeepEqual(value, usual[i].value.Interface()) {
			keys[s.path] = value
		}
	}
	return keys
}

// variable returns the name of the setting's environment variable.
func (s setting) variable() string {
	return "SM_" + strings.ToUpper(strings.ReplaceAll(s.path, ".", "_"))
}

// A Source is a file that may hold the configuration.
type Source struct {
	Path     string // "" if there is no place for a file
	Required bool   // the file must exist: the user has named it, or it was read once
}

// Find returns the source of the configuration: the file named by --config,
// else the one in the user's configuration directory.
func Find(flags *pflag.FlagSet, env Env) (Source, error) {
	if name, _ := flags.GetString("config"); flags.Changed("config") {
		name, err := env.ExpandHome(name)
		return Source{name, true}, err
	}
	dir, err := env.XDGDir("XDG_CONFIG_HOME", ".config")
	if err != nil {
		// Without a home there is no file, and the defaults apply. A path that
		// needs a home is another error.
		return Source{}, nil
	}
	return Source{filepath.Join(dir, "sm", "config.yaml"), false}, nil
}

// Load reads the file and builds the configuration, validated and with its paths absolute.
func (s *Source) Load(flags *pflag.FlagSet, env Env) (*Config, error) {
	text, err := s.Read()
	if err != nil {
		return nil, err
	}
	return Parse(s.Path, text, flags, env)
}

// Read returns the text of the file, nil if an optional file does not exist.
// After the first successful call the file must exist.
func (s *Source) Read() ([]byte, error) {
	if s.Path == "" || s.Path == os.DevNull {
		return nil, nil
	}
	text, err := files.ReadSmall(s.Path)
	missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	if missing && !s.Required {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; give an existing file that this user can read", s.Path, err)
	}
	s.Required = true
	return text, nil
}

// Verdict returns a line about a source after Load.
func (s Source) Verdict() string {
	switch {
	case s.Path == "":
		return "no configuration file; the defaults are ok"
	case !s.Required:
		return s.Path + ": not there; the defaults are ok"
	}
	return s.Path + ": ok"
}

// Parse builds the configuration from the defaults, the text of the file, the
// environment and flags, each overriding the one before. name is that of the
// file, for errors.
func Parse(name string, text []byte, flags *pflag.FlagSet, env Env) (*Config, error) {
	var root any
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("%s: not valid YAML: %s; correct the indentation (spaces only), the quotes or the brackets there",
			name, plain.Line(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	file, ok := root.(map[string]any)
	if root != nil && !ok {
		return nil, fmt.Errorf("%s: the file must be a group of keys", name)
	}
	// A group whose lines are all commented out is absent.
	maps.DeleteFunc(file, func(_ string, value any) bool { return value == nil })
	v := viper.New()
	_ = v.MergeConfigMap(file) // it has no error
	places := map[string]string{}
	for _, s := range new(Config).settings() {
		text, given := s.tag.Lookup("default")
		if given || s.value.Kind() == reflect.Slice {
			v.SetDefault(s.path, text)
		}
		variable := env.Get(s.variable())
		f := flags.Lookup(s.path)
		group, _, inGroup := strings.Cut(s.path, ".")
		_, isGroup := v.Get(group).(map[string]any)
		switch {
		case inGroup && !isGroup && v.InConfig(group): // a mistake that a variable would hide
		case s.tag.Get("flag") != "" && f != nil && f.Changed:
			_ = v.BindPFlag(s.path, f) // an error is a missing flag
			places[s.path] = "--" + s.path + ": "
		case variable != "": // shells and service managers leave one out by making it empty
			v.Set(s.path, variable)
			places[s.path] = s.variable() + ": "
		}
	}

	// place returns the beginning of an error: where the key was set.
	place := func(path string) string {
		key, _, _ := strings.Cut(path, "[")
		if places[key] == "" && v.InConfig(key) {
			return name + ": "
		}
		return places[key]
	}
	cfg := new(Config)
	var seen mapstructure.Metadata
	err := v.Unmarshal(cfg, func(c *mapstructure.DecoderConfig) {
		c.TagName = "yaml"
		c.Squash = true
		c.Metadata = &seen
		c.WeaklyTypedInput = false
		c.DecodeHook = convert
	})
	if len(seen.Unused) > 0 {
		unknown := slices.Min(seen.Unused)
		return nil, fmt.Errorf("%sunknown key %s", place(unknown), unknownKey(unknown))
	}
	if wrong, ok := errors.AsType[*mapstructure.DecodeError](err); ok {
		path := wrong.Name()
		return nil, fmt.Errorf("%s%s %w", place(path), path, wrong.Unwrap())
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if err := cfg.resolvePaths(env, place); err != nil {
		return nil, err
	}
	if path, fault := cfg.check(); fault != "" {
		return nil, fmt.Errorf("%s%s %s", place(path), path, fault)
	}
	return cfg, nil
}
