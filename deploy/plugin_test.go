package deploy

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// decode reads a JSON file of the plugin; unknown members are errors.
func decode(t *testing.T, name string, v any) {
	t.Helper()
	text, err := fs.ReadFile(Plugin(), name)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type person struct{ Name string }

// TestPluginManifests tests that the marketplace and its plugin have the names that sm uses.
func TestPluginManifests(t *testing.T) {
	var market struct {
		Name, Description string
		Owner             person
		Plugins           []struct{ Name, Source, Description string }
	}
	decode(t, ".claude-plugin/marketplace.json", &market)
	if market.Name != Marketplace || market.Description == "" || market.Owner.Name == "" ||
		len(market.Plugins) != 1 {
		t.Fatalf("got %+v", market)
	}
	var plugin struct {
		Name, Version, Description, License string
		Author                              person
		Keywords                            []string
	}
	entry := market.Plugins[0]
	decode(t, strings.TrimPrefix(entry.Source, "./")+"/.claude-plugin/plugin.json", &plugin)
	if entry.Name != PluginName || entry.Source != "./"+PluginName ||
		plugin.Name != PluginName {
		t.Errorf("names: %+v and %+v", entry, plugin)
	}
	if plugin.Version == "" || plugin.Description != entry.Description ||
		plugin.License != "Apache-2.0" ||
		plugin.Author.Name == "" {
		t.Errorf("got %+v", plugin)
	}
}

// TestPluginPapers tests that the plugin has a description and a licence.
func TestPluginPapers(t *testing.T) {
	readme, err := fs.ReadFile(Plugin(), PluginName+"/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(readme))); n < 40 {
		t.Errorf("a README of %d words", n)
	}
	got, err := fs.ReadFile(Plugin(), PluginName+"/LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("LICENSE (-want +got):\n%s", diff)
	}
}
