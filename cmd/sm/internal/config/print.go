package config

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Print writes a configuration as a file that loads to the same one.
func (c *Config) Print(w io.Writer) error {
	root, err := groupNode(reflect.ValueOf(c).Elem())
	if err != nil {
		return fmt.Errorf("print configuration: %w", err)
	}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	return errors.Join(encoder.Encode(root), encoder.Close())
}

// groupNode builds the tree by hand for the sake of durations, which the encoder
// would write as 5m0s.
func groupNode(group reflect.Value) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for field, value := range group.Fields() {
		child := new(yaml.Node)
		var err error
		if d, ok := value.Interface().(time.Duration); ok {
			child.SetString(shortDuration(d))
		} else if value.Kind() == reflect.Struct {
			child, err = groupNode(value)
		} else {
			err = child.Encode(value.Interface())
		}
		if err != nil {
			return nil, err
		}
		if child.Kind == yaml.SequenceNode {
			child.Style = yaml.FlowStyle
		}
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: field.Tag.Get("yaml")}
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
