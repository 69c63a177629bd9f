package jsonwalk

import (
	"encoding/json"
	"testing"
)

// TestFigure tests that a number is read as by encoding/json, with anything around it.
func TestFigure(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]int64{
		"": 0, "0": 0, "7": 7, "70": 70, "00": 0, "01": 0, "007": 0, "-0": 0, "-7": 0, "0.5": 0, "7e1": 70, "1.5e1": 15, "7e": 0, "-": 0, "+7": 0, "7x": 0,
		"999999999": 999999999, "1000000001": MaxFigure, "18446744073709551623": MaxFigure, "99999999999999999999999999": MaxFigure,
		"null": 0, "true": 0, "[7]": 0, "{}": 0, `"7"`: 0,
	} {
		for _, space := range []string{"", " ", "\t\n "} {
			for _, behind := range []string{"", `,"b":1`} {
				line := `{"a":` + space + number + space + behind + "}"
				var w Walker
				w.Begin([]byte(line))
				got := int64(0)
				for name, value := range w.Members(Text{}) {
					if n := w.Figure(value); string(name) == "a" {
						got = n
					}
				}
				if valid := json.Valid([]byte(line)); w.End() != valid ||
					valid && got != want {
					t.Errorf("%s: %d, valid %t, want %d, %t", line, got, w.End(), want, valid)
				}
			}
		}
	}
}
