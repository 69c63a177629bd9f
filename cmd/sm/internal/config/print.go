package config

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Print writes a configuration as a file that loads to the same one.
func (c *Config) Print(w io.Writer) error {
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	return errors.Join(encoder.Encode(groupNode(reflect.ValueOf(c).Elem())), encoder.Close())
}

// groupNode builds the tree by hand for the sake of durations, which the encoder
// would write as 5m0s.
func groupNode(group reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for field, value := range group.Fields() {
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: field.Tag.Get("yaml")}
		child := new(yaml.Node)
		switch d, ok := value.Interface().(time.Duration); {
		case key.Value == "-":
			continue
		case ok:
			child.SetString(shortDuration(d))
		case value.Kind() == reflect.Struct:
			child = groupNode(value)
		default:
			_ = child.Encode(value.Interface()) // a plain value has no error
		}
		if child.Kind == yaml.SequenceNode {
			child.Style = yaml.FlowStyle
		}
		if field.Anonymous {
			n.Content = append(n.Content, child.Content...)
		} else {
			n.Content = append(n.Content, key, child)
		}
	}
	return n
}

// shortDuration writes 5m, not 5m0s.
func shortDuration(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}
