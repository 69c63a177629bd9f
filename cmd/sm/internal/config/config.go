// Package config reads the configuration: defaults, then the file, then the environment, then flags.
//
// Invariants: the type Config and its tags are the one list of keys; what is loaded holds, so that nobody checks a value
// again; an error is one line that names the file's line, the variable or the flag, and what to do.
//
// It returns plain values and knows nothing of those who use them: what a key means to the observer is the command's
// business.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// maxConfigBytes bounds a configuration file; a name given by mistake may be a device without an end.
const maxConfigBytes = 1 << 20

// viperDelimiter joins keys inside viper. Its usual dot would split map keys that hold one.
const viperDelimiter = "::"

// flagKeyAnnotation marks a flag that sets a key of the configuration.
const flagKeyAnnotation = "sm_config_key"

// Config is the whole configuration. This type and its tags are the one list of keys: what the file may hold,
// the environment variables, the hints for mistyped keys and `check-config --print` are all read off it. A key with
// apply:"restart" takes effect when an observer starts; the others can change while it runs.
type Config struct {
	Projects       []string             `yaml:"projects" apply:"restart"`
	Listen         []string             `yaml:"listen" apply:"restart"`
	Socket         string               `yaml:"socket" apply:"restart"`
	State          string               `yaml:"state" apply:"restart"`
	Log            logConfig            `yaml:"log"`
	HTTP           httpConfig           `yaml:"http"`
	Metrics        metricsConfig        `yaml:"metrics"`
	Windows        []windowConfig       `yaml:"windows"`
	Compaction     compactionConfig     `yaml:"compaction"`
	ContextMonitor contextMonitorConfig `yaml:"context_monitor"`
	Storm          stormConfig          `yaml:"storm"`
	Reminders      remindersConfig      `yaml:"reminders"`
	Queue          queueConfig          `yaml:"queue"`
	Delivery       deliveryConfig       `yaml:"delivery"`
	Handoff        handoffConfig        `yaml:"handoff"`
	Channels       []channelConfig      `yaml:"channels"`
	Guard          guardConfig          `yaml:"guard"`
	Supervise      superviseConfig      `yaml:"supervise"`
	Operator       operatorConfig       `yaml:"operator"`
	Messages       messagesConfig       `yaml:"messages"`
}

type logConfig struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format" apply:"restart"`
}

type httpConfig struct {
	AllowedHosts     []string `yaml:"allowed_hosts"`
	AllowedUIDs      []int    `yaml:"allowed_uids"`
	WebhookTokenFile string   `yaml:"webhook_token_file"`
}

type metricsConfig struct {
	Listen        string        `yaml:"listen" apply:"restart"`
	WebConfigFile string        `yaml:"web_config_file" apply:"restart"`
	SessionTTL    time.Duration `yaml:"session_ttl"`
	MaxSessions   int           `yaml:"max_sessions"`
	Project       bool          `yaml:"project"`
}

type windowConfig struct {
	Model  string `yaml:"model"`
	Tokens int    `yaml:"tokens"`
}

type compactionConfig struct {
	ThresholdTokens int           `yaml:"threshold_tokens"`
	Settle          time.Duration `yaml:"settle"`
}

type contextMonitorConfig struct {
	Enabled             bool          `yaml:"enabled"`
	WarningPercentage   int           `yaml:"warning_percentage"`
	CriticalPercentage  int           `yaml:"critical_percentage"`
	WarningTokens       int           `yaml:"warning_tokens"`
	CriticalTokens      int           `yaml:"critical_tokens"`
	WarningOfThreshold  int           `yaml:"warning_of_threshold"`
	CriticalOfThreshold int           `yaml:"critical_of_threshold"`
	EarlyWarnRatio      float64       `yaml:"early_warn_ratio"`
	Estimate            bool          `yaml:"estimate"`
	ForecastTurns       int           `yaml:"forecast_turns"`
	NoDataAfter         time.Duration `yaml:"no_data_after"`
}

type stormConfig struct {
	Count  int           `yaml:"count"`
	Within time.Duration `yaml:"within"`
	Turns  int           `yaml:"turns"`
}

type remindersConfig struct {
	Soft           time.Duration `yaml:"soft"`
	Hard           time.Duration `yaml:"hard"`
	CompactionWait time.Duration `yaml:"compaction_wait"`
}

type queueConfig struct {
	PerAgent        int           `yaml:"per_agent"`
	MessageBytes    int           `yaml:"message_bytes"`
	PerSenderMinute int           `yaml:"per_sender_minute"`
	TTL             time.Duration `yaml:"ttl"`
}

type deliveryConfig struct {
	TypeTexts bool `yaml:"type_texts"`
}

type handoffConfig struct {
	Directory        string        `yaml:"directory" apply:"restart"`
	Expiry           time.Duration `yaml:"expiry"`
	AutoDocument     bool          `yaml:"auto_document"`
	AutoRotate       bool          `yaml:"auto_rotate"`
	BreakerCount     int           `yaml:"breaker_count"`
	BreakerWithin    time.Duration `yaml:"breaker_within"`
	DocumentBytes    int           `yaml:"document_bytes"`
	InjectCharacters int           `yaml:"inject_characters"`
}

type channelConfig struct {
	Name string `yaml:"name"`
	Path string `yaml:"path"`
}

type guardConfig struct {
	Enabled           bool     `yaml:"enabled"`
	OverflowThreshold float64  `yaml:"overflow_threshold"`
	Allow             []string `yaml:"allow"`
}

type superviseConfig struct {
	Restarts  int           `yaml:"restarts"`
	TermAfter time.Duration `yaml:"term_after"`
}

type operatorConfig struct {
	Notify      []string `yaml:"notify"`
	Compactions bool     `yaml:"compactions"`
}

type messagesConfig struct {
	Warning   string `yaml:"warning"`
	Critical  string `yaml:"critical"`
	Compacted string `yaml:"compacted"`
	Storm     string `yaml:"storm"`
	NoData    string `yaml:"no_data"`
	Forecast  string `yaml:"forecast"`
	Resume    string `yaml:"resume"`
}

// A setting is one key of the configuration: all that is not a group of further keys.
type setting struct {
	path    string // as in the file, joined with dots
	value   reflect.Value
	restart bool // changes wait for a restart
}

// settings lists every setting of a configuration in the order of the type. The values may be set through it.
func (c *Config) settings() []setting {
	var all []setting
	var walk func(prefix string, group reflect.Value)
	walk = func(prefix string, group reflect.Value) {
		for field, value := range group.Fields() {
			path := prefix + field.Tag.Get("yaml")
			if value.Kind() == reflect.Struct {
				walk(path+".", value)
				continue
			}
			all = append(all, setting{path, value, field.Tag.Get("apply") == "restart"})
		}
	}
	walk("", reflect.ValueOf(c).Elem())
	return all
}

// Keep puts the values of an observer that runs into the keys that only a restart changes, and names those that differ.
func (c *Config) Keep(running *Config) (restart []string) {
	old := running.settings()
	for i, s := range c.settings() {
		if s.restart && !reflect.DeepEqual(s.value.Interface(), old[i].value.Interface()) {
			restart = append(restart, s.path)
			s.value.Set(old[i].value)
		}
	}
	return restart
}

// variable is the environment variable of the setting.
func (s setting) variable() string {
	return "SM_" + strings.ToUpper(strings.ReplaceAll(s.path, ".", "_"))
}

func viperKey(path string) string { return strings.ReplaceAll(path, ".", viperDelimiter) }

// BindFlag lets a flag of that name, once given, decide the key of that path.
func BindFlag(flags *pflag.FlagSet, name, path string) {
	// The error says that there is no such flag: a mistake in the program that its first test run shows.
	if err := flags.SetAnnotation(name, flagKeyAnnotation, []string{path}); err != nil {
		panic(err)
	}
}

// A Source is a file that may hold the configuration.
type Source struct {
	Path     string // empty: there is no place to look
	Required bool   // named by the user, so it must exist
}

// Find says where the configuration is: the file named by --config, else the one in the user's
// configuration directory.
func Find(flags *pflag.FlagSet, env Env) (Source, error) {
	if flag := flags.Lookup("config"); flag != nil && flag.Changed {
		name := flag.Value.String()
		if name == "" {
			return Source{}, errors.New("--config is empty: give it a file")
		}
		name, err := env.ExpandHome(name)
		return Source{name, true}, err
	}
	dir, err := env.XDGDir("XDG_CONFIG_HOME", ".config")
	if err != nil {
		// A process without a home has no file of its own; the defaults serve it, and a path that does need
		// a home will say so.
		return Source{}, nil
	}
	return Source{filepath.Join(dir, "sm", "config.yaml"), false}, nil
}

// Load reads the file and builds the configuration, validated and with its paths absolute.
func (s Source) Load(flags *pflag.FlagSet, env Env) (*Config, error) {
	text, err := s.Read()
	if err != nil {
		return nil, err
	}
	return Parse(s.Path, text, flags, env)
}

// Read gives the text of the file, at most 1 MiB; nil for one that need not exist.
func (s Source) Read() ([]byte, error) {
	if s.Path == "" {
		return nil, nil
	}
	// Without O_NONBLOCK a pipe would hold us until somebody writes into it.
	f, err := os.OpenFile(s.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case err == nil:
	case absent(err) && !s.Required:
		return nil, nil
	case absent(err):
		return nil, fmt.Errorf("%s: %w; give the name of an existing file", s.Path, cause(err))
	default:
		return nil, fmt.Errorf("%s: %w; make the file readable for this user", s.Path, cause(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory; give the file itself, such as %s",
			s.Path, filepath.Join(s.Path, "config.yaml"))
	}
	if info, err := f.Stat(); err == nil && info.Mode().Type()&^fs.ModeDevice&^fs.ModeCharDevice != 0 {
		return nil, fmt.Errorf("%s is not a regular file; give a configuration file", s.Path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: read configuration: %w; give a readable file", s.Path, cause(err))
	}
	if len(text) > maxConfigBytes {
		return nil, fmt.Errorf("%s is larger than 1 MiB; give a configuration file", s.Path)
	}
	return text, nil
}

// absent tells that there is no such file, be it for want of a directory on the way.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// cause takes the operation and name off an error of package os, where the message has them already.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// Parse layers defaults, the text of the file, environment and flags. Each layer is checked on its own
// before viper merges it, so that an error can name the line or variable; viper would let typos pass.
func Parse(name string, text []byte, flags *pflag.FlagSet, env Env) (*Config, error) {
	v := viper.NewWithOptions(viper.KeyDelimiter(viperDelimiter))
	for _, s := range Default().settings() {
		v.SetDefault(viperKey(s.path), s.value.Interface())
	}
	from := origins{}
	fileValues, err := parseFile(name, text, from)
	if err != nil {
		return nil, err
	}
	envValues, err := parseEnv(env, from)
	if err != nil {
		return nil, err
	}
	// The environment shares viper's file layer: its own environment layer cannot read a given list of variables
	// and would take every value as text.
	for _, layer := range []map[string]any{fileValues, envValues} {
		if err := v.MergeConfigMap(layer); err != nil {
			return nil, fmt.Errorf("merge configuration: %w", err)
		}
	}
	if err := bindFlags(v, flags, from); err != nil {
		return nil, fmt.Errorf("bind flags: %w", err)
	}
	cfg := new(Config)
	if err := v.UnmarshalExact(cfg, decoding); err != nil {
		return nil, fmt.Errorf("decode configuration: %w", err)
	}
	if err := cfg.resolvePaths(env, from); err != nil {
		return nil, err
	}
	return cfg, from.explain(cfg.problems())
}

// bindFlags gives the flags that were marked by BindFlag the last word on their keys.
func bindFlags(v *viper.Viper, flags *pflag.FlagSet, from origins) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		for _, path := range f.Annotations[flagKeyAnnotation] {
			errs = append(errs, v.BindPFlag(viperKey(path), f))
			if f.Changed {
				from.set(path, "--"+f.Name)
			}
		}
	})
	return errors.Join(errs...)
}

// decoding makes viper's decoder use the tags of config and read durations; they come as text from flags only.
func decoding(c *mapstructure.DecoderConfig) {
	c.TagName = "yaml"
	c.DecodeHook = func(_, to reflect.Type, data any) (any, error) {
		text, ok := data.(string)
		if !ok || to != reflect.TypeFor[time.Duration]() {
			return data, nil
		}
		return ParseDuration(text)
	}
}
