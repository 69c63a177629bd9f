package hook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAutoCompactWire(t *testing.T) {
	tests := map[string]struct {
		wire string
		want AutoCompact
	}{
		"all": {
			`{"off":true,"window":"100000","percent":"50","output":"8000","setting":120000,"models":{"m":110000,"n":0}}`,
			AutoCompact{
				Off:     true,
				Window:  "100000",
				Percent: "50",
				Output:  "8000",
				Setting: 120_000,
				Models:  map[string]int64{"m": 110_000, "n": 0},
			},
		},
		"of other types": {
			`{"off":"yes","window":1,"percent":[],"output":{},"setting":"1","models":[]}`,
			AutoCompact{},
		},
		"too long":  {`{"window":"` + strings.Repeat("1", 33) + `"}`, AutoCompact{}},
		"control":   {`{"window":"1\u0000"}`, AutoCompact{}},
		"negative":  {`{"setting":-1,"models":{"m":-1,"":1}}`, AutoCompact{}},
		"unknown":   {`{"more":1}`, AutoCompact{}},
		"no object": {`7`, AutoCompact{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := Decode([]byte(`{"session_id":"s","sm":{"agent":"a","auto_compact":` + test.wire + `}}`))
			if diff := cmp.Diff(test.want, p.SM.AutoCompact); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
			again, err := Decode(p.Encode())
			if diff := cmp.Diff(p, again); diff != "" || err != nil {
				t.Errorf("over the wire: error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestAddSettings(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		want  AutoCompact
	}{
		{"nothing", []string{`{}`, `{"hooks":{}}`}, AutoCompact{}},
		{"window", []string{`{"autoCompactWindow":120000}`}, AutoCompact{Setting: 120_000}},
		{"a later file overrides", []string{
			`{"autoCompactWindow":120000}`,
			`{"autoCompactWindow":150000}`,
		}, AutoCompact{
			Setting: 150_000,
		}},
		{"a member missing in a later file", []string{
			`{"autoCompactWindow":120000}`,
			`{}`,
		}, AutoCompact{
			Setting: 120_000,
		}},
		{
			"models",
			[]string{`{"autoCompactWindow":120000,"modelSettings":{"m":{"autoCompactWindow":110000},"n":{"autoCompactWindow":"auto"},"o":{"effortLevel":"low"},"p":1}}`},
			AutoCompact{Setting: 120_000, Models: map[string]int64{"m": 110_000, "n": 0}},
		},
		{"a later file for all models", []string{
			`{"modelSettings":{"m":{"autoCompactWindow":110000}}}`,
			`{"autoCompactWindow":150000}`,
		}, AutoCompact{
			Setting: 150_000,
		}},
		{
			"a later file for a model",
			[]string{
				`{"autoCompactWindow":150000}`,
				`{"modelSettings":{"m":{"autoCompactWindow":110000}}}`,
			},
			AutoCompact{Setting: 150_000, Models: map[string]int64{"m": 110_000}},
		},
		{"off", []string{`{"autoCompactEnabled":false}`}, AutoCompact{Off: true}},
		{
			"on again",
			[]string{`{"autoCompactEnabled":false}`, `{"autoCompactEnabled":true}`},
			AutoCompact{},
		},
		{"not while idle", []string{`{"idleCompaction":false}`}, AutoCompact{IdleOff: true}},
		{
			"while idle again",
			[]string{`{"idleCompaction":false}`, `{"idleCompaction":true}`},
			AutoCompact{},
		},
		{
			"of another type",
			[]string{`{"autoCompactEnabled":"no","autoCompactWindow":"100k","modelSettings":7}`},
			AutoCompact{},
		},
		{"broken", []string{`{"autoCompactWindow":120000`, ``, `[]`}, AutoCompact{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got AutoCompact
			for _, file := range test.files {
				got.AddSettings([]byte(file))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
