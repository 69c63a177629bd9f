package main

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"sm/dashboards/screen"
)

func newCheckConfigCommand(env *environ) *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use:   "check-config [FILE]",
		Short: "Check the configuration",
		Long: "check-config reads the configuration as every other command does, from defaults, file, environment\n" +
			"and flags, and says whether it holds. Without FILE it checks the one that would be used.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := checkedSource(cmd, env, args)
			if err != nil {
				return err
			}
			cfg, err := source.load(cmd.Flags(), env)
			if err != nil {
				return err
			}
			warnStray(env)
			if err := cfg.checkStart(env); err != nil {
				return err
			}
			if show {
				return printConfig(env.stdout, cfg)
			}
			_, err = fmt.Fprintln(env.stdout, source.verdict())
			return err
		},
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the configuration in effect instead")
	return cmd
}

// checkStart says what an observer with this configuration could not serve: its socket, or the alerts.
func (c *config) checkStart(env *environ) error {
	if _, err := serverSocket(c, env); err != nil {
		return err
	}
	_, err := webhookToken(c.HTTP.WebhookTokenFile)
	return err
}

// checkedSource is the file named as an argument, else the one that the other commands use.
func checkedSource(cmd *cobra.Command, env *environ, args []string) (configSource, error) {
	if len(args) == 0 {
		return findConfig(cmd.Flags(), env)
	}
	if cmd.Flags().Changed("config") {
		return configSource{}, usagef("give FILE or --config, not both")
	}
	if args[0] == "" {
		return configSource{}, usagef("FILE is empty: give it a name")
	}
	return configSource{args[0], true}, nil
}

func (s configSource) verdict() string {
	if s.path == "" {
		return "no configuration file; the defaults are ok"
	}
	if _, err := os.Stat(s.path); !s.required && err != nil && absent(err) {
		return s.path + ": not there; the defaults are ok"
	}
	return s.path + ": ok"
}

// warnStray names the variables that look like ours and set nothing. They are no error, since other programs may
// use the prefix.
func warnStray(env *environ) {
	var known []string
	for _, s := range defaultConfig().settings() {
		known = append(known, s.variable())
	}
	// Those that name an agent to the commands run inside it.
	known = append(known, "SM_PARENT_ID", "SM_PROVIDER", "SM_NAME", insideStatusline)
	vars := env.vars()
	slices.Sort(vars)
	for _, v := range vars {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "SM_") || slices.Contains(known, name) {
			continue
		}
		near, _ := nearest(name, known)
		fmt.Fprintln(env.stderr, screen.OneLine(fmt.Sprintf("sm: warning: variable %s sets nothing; the nearest known one is %s", name, near)))
	}
}

// printConfig writes a configuration as a file that loads to the same one.
func printConfig(w io.Writer, c *config) error {
	root, err := groupNode(reflect.ValueOf(c).Elem())
	if err != nil {
		return fmt.Errorf("print configuration: %w", err)
	}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return fmt.Errorf("print configuration: %w", err)
	}
	return encoder.Close()
}

// groupNode builds the tree by hand for the sake of durations, which the encoder would write as 5m0s.
func groupNode(group reflect.Value) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for field, value := range group.Fields() {
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: field.Tag.Get("yaml")}
		child := new(yaml.Node)
		var err error
		switch v := value.Interface().(type) {
		case time.Duration:
			child.Kind, child.Value = yaml.ScalarNode, shortDuration(v)
		default:
			if value.Kind() == reflect.Struct {
				child, err = groupNode(value)
			} else {
				err = child.Encode(v)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", key.Value, err)
		}
		if child.Kind == yaml.SequenceNode {
			child.Style = yaml.FlowStyle
		}
		n.Content = append(n.Content, key, child)
	}
	return n, nil
}

// shortDuration writes 5m, not 5m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if d%time.Minute == 0 && d != 0 {
		s = strings.TrimSuffix(s, "0s")
	}
	if d%time.Hour == 0 && d != 0 {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
