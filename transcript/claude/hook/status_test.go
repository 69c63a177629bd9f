package hook

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStatusFigures(t *testing.T) {
	type figures struct {
		Window  Window
		Tokens  int64
		Percent int
	}
	known := func(n int64) Figure[int64] { return Figure[int64]{Value: n, Known: true} }
	tests := []struct {
		name, in string // in: the member context_window
		want     figures
	}{
		{"absent", `{}`, figures{}},
		{"not an object", `7`, figures{}},
		{"null", `{"used_percentage":null,"current_usage":null,"total_input_tokens":0}`, figures{Window: Window{
			TotalInput: known(0), Usage: Figure[Usage]{
				Null: true,
			}, UsedPercentage: Figure[float64]{
				Null: true,
			},
		}}},
		{
			"zero after a compaction", `{"used_percentage":0,"current_usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}`,
			figures{
				Window: Window{
					Usage:          Figure[Usage]{Known: true},
					UsedPercentage: Figure[float64]{Known: true},
				},
			},
		},
		{
			"output is not context", `{"context_window_size":200000,"used_percentage":8,"current_usage":{"input_tokens":8500,"output_tokens":1200,"cache_creation_input_tokens":5000,"cache_read_input_tokens":2000}}`,
			figures{Window{
				Size: known(200000),
				Usage: Figure[Usage]{
					Value: Usage{8500, 1200, 5000, 2000},
					Known: true,
				},
				UsedPercentage: Figure[float64]{Value: 8, Known: true},
			}, 15500, 8},
		},
		{"totals are not context", `{"total_input_tokens":2000000,"context_window_size":200000}`, figures{
			Window: Window{TotalInput: known(2000000), Size: known(200000)},
		}},
		{
			"wrong types",
			`{"used_percentage":"8","context_window_size":true,"current_usage":[],"total_output_tokens":-1}`,
			figures{},
		},
		{
			"invalid part of a usage",
			`{"current_usage":{"input_tokens":"8","cache_read_input_tokens":5}}`,
			figures{},
		},
		{
			"no percentage", `{"context_window_size":200000,"current_usage":{"input_tokens":3000}}`,
			figures{Window{
				Size:  known(200000),
				Usage: Figure[Usage]{Value: Usage{Input: 3000}, Known: true},
			}, 3000, 2},
		},
		{"more than all", `{"used_percentage":346}`, figures{Window{
			UsedPercentage: Figure[float64]{Value: 346, Known: true},
		}, 0, 100}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := DecodeStatus([]byte(`{"context_window":` + tt.in + `}`))
			noErrors(t, err)
			n, known := s.Tokens()
			percent, has := s.Percent()
			if diff := cmp.Diff(
				tt.want,
				figures{s.Window, n, percent},
			); diff != "" || known != (n > 0) ||
				has != (percent > 0) {
				t.Errorf("known %v %v (-want +got):\n%s", known, has, diff)
			}
		})
	}
}

func TestAtLeast(t *testing.T) {
	for version, want := range map[string]bool{
		"2.1.131": false, "2.1.132": true, "2.1.197": true, "2.2.0": true, "2.2": true, "10.0.0": true, "1.9.999": false,
		"2.1": false, "": false, "x": false, "2.1.x": false, "2.1.132-beta.1": true, "-1.2": false,
	} {
		if got := AtLeast(version, 2, 1, 132); got != want {
			t.Errorf("%q: got %v, want %v", version, got, want)
		}
	}
}

func TestTmux(t *testing.T) {
	for in, want := range map[string]struct {
		Socket string
		Server int
	}{
		"/tmp/tmux-0/default,4711,0": {"/tmp/tmux-0/default", 4711},
		"/tmp/a,b,4711,12":           {"/tmp/a,b", 4711},
		"/tmp/x,,0":                  {"/tmp/x", 0},
		"/tmp/x":                     {}, "": {}, "a,b,c": {}, "rel,5,0": {}, ",5,0": {},
	} {
		socket, server := ParseTmux(in)
		if socket != want.Socket || server != want.Server {
			t.Errorf("%q: %q, %d; want %+v", in, socket, server, want)
		}
	}
	a := TmuxAgent("/tmp/s", 10, "%3")
	b := TmuxAgent("/tmp/s", 11, "%3")
	if a != "tmux-3-d682871e03f9e8b2" || b == a {
		t.Errorf("agents %q, %q", a, b)
	}
	for _, pane := range []string{"", "3", "%", "%a", "%1;", "%1234567890"} {
		if got := TmuxAgent("/tmp/s", 10, pane); got != "" {
			t.Errorf("pane %q gives agent %q", pane, got)
		}
	}
}
