package transcripttest

import (
	"strings"
	"testing"
)

func reading(usage string) string {
	return `{"type":"assistant","message":{"usage":{` + usage + `}}}` + "\n"
}

// TestOracleRules holds the rules one by one, where nothing generated is needed.
func TestOracleRules(t *testing.T) {
	const (
		boundary = `{"type":"system","subtype":"compact_boundary","uuid":"b","timestamp":"2026-01-01T00:00:02Z","compactMetadata":{"trigger":"auto","preTokens":9}}` + "\n"
		summary  = `{"type":"user","isCompactSummary":true,"uuid":"s","parentUuid":"b","message":{"content":"x"}}` + "\n"
		early    = `{"type":"assistant","timestamp":"2026-01-01T00:00:01Z","uuid":"e","message":{"id":"m","model":"a","usage":{"input_tokens":1,"output_tokens":5}}}` + "\n"
		late     = `{"type":"assistant","timestamp":"2026-01-01T00:00:03Z","uuid":"l","message":{"id":"m","model":"z","usage":{"input_tokens":3,"output_tokens":2}}}` + "\n"
		title    = `{"type":"summary","summary":"t"}` + "\n"
		version  = `{"type":"mode","version":"1.2.3"}` + "\n"
	)
	const unknown = -1
	tests := map[string]struct {
		text        string
		context     int64
		peak        int64
		compactions int
		messages    int
		output      int64
		bad         int
	}{
		"nothing":                      {"", unknown, 0, 0, 0, 0, 0},
		"white space":                  {" \t\r\n\n", unknown, 0, 0, 0, 0, 0},
		"no newline yet":               {strings.TrimSpace(late), unknown, 0, 0, 0, 0, 0},
		"newest by time":               {late + early, 3, 3, 0, 1, 5, 0},
		"unknown after a boundary":     {early + boundary, unknown, 1, 1, 1, 5, 0},
		"a boundary before in time":    {late + boundary, 3, 3, 1, 1, 2, 0},
		"boundary, summary, reply":     {early + boundary + summary + late, 3, 3, 1, 1, 5, 0},
		"summary alone":                {early + summary, unknown, 1, 1, 1, 5, 0},
		"summary first":                {early + summary + boundary, unknown, 1, 1, 1, 5, 0},
		"replay":                       {early + boundary + early + boundary, unknown, 1, 1, 1, 5, 0},
		"bare readings":                {reading(`"input_tokens":7`) + reading(`"input_tokens":5`), 5, 7, 0, 2, 0, 0},
		"bare summary":                 {title + reading(`"input_tokens":7`) + title + title, unknown, 7, 1, 1, 0, 0},
		"two bare summaries":           {reading(`"input_tokens":7`) + title + reading(`"input_tokens":6`) + title, unknown, 7, 2, 2, 0, 0},
		"a title, for a client":        {version + reading(`"input_tokens":7`) + title, 7, 7, 0, 1, 0, 0},
		"undated goes by place":        {late + reading(`"input_tokens":5`) + early, 5, 5, 0, 2, 5, 0},
		"undated after a boundary":     {boundary + reading(`"input_tokens":5`), 5, 5, 1, 1, 0, 0},
		"larger of flat and nested":    {reading(`"cache_creation_input_tokens":4,"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":5}`), 7, 7, 0, 1, 0, 0},
		"output is not context":        {reading(`"output_tokens":9`), unknown, 0, 0, 1, 9, 0},
		"two objects":                  {early[:len(early)-1] + late, unknown, 0, 0, 0, 0, 1},
		"no objects":                   {"[]\n1\n\"{}\"\nnull\ntrue\n{}\n", unknown, 0, 0, 0, 0, 5},
		"too deep":                     {`{"a":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + "}\n", unknown, 0, 0, 0, 0, 1},
		"a summary without an owner":   {`{"type":"assistant","isCompactSummary":true}` + "\n", unknown, 0, 0, 0, 0, 0},
		"not literally true":           {`{"type":"user","isCompactSummary":1}` + "\n", unknown, 0, 0, 0, 0, 0},
		"last of equal keys":           {reading(`"input_tokens":7,"input_tokens":4`), 4, 4, 0, 1, 0, 0},
		"a fraction of a token":        {reading(`"input_tokens":7.5,"cache_read_input_tokens":2.0`), 2, 2, 0, 1, 0, 0},
		"more than there can be":       {reading(`"input_tokens":1e300`), maxFigure, maxFigure, 0, 1, 0, 0},
		"keys of another case":         {strings.ReplaceAll(reading(`"input_tokens":7`), "usage", "USAGE"), unknown, 0, 0, 0, 0, 0},
		"the last call of a message":   {reading(`"input_tokens":9,"iterations":[` + calls("message 5", "message 4", "advisor_message 8") + `]`), 4, 4, 0, 1, 0, 0},
		"a last call of another kind":  {reading(`"input_tokens":9,"iterations":[` + calls("message 5", "x 8") + `]`), 9, 9, 0, 1, 0, 0},
		"a model that stood in":        {reading(`"input_tokens":9,"iterations":[` + calls("message 5", "fallback_message 7") + `]`), 7, 7, 0, 1, 0, 0},
		"a single call":                {reading(`"input_tokens":9,"iterations":[` + calls("message 5") + `]`), 5, 5, 0, 1, 0, 0},
		"a call that lacks figures":    {reading(`"input_tokens":9,"iterations":[{"type":"message","input_tokens":5}]`), 9, 9, 0, 1, 0, 0},
		"an offset from UTC":           {late + strings.Replace(early, "00:00:01Z", "00:30:01-01:00", 1), 1, 3, 0, 1, 5, 0},
		"a time that is none, at last": {late + strings.Replace(early, "2026-01-01T00:00:01Z", "then", 1), 1, 3, 0, 1, 5, 0},
	}
	for name, want := range tests {
		got := Oracle([]byte(want.text))
		if want.context == unknown && got.Known || want.context != unknown && (!got.Known || got.ContextTokens != want.context) {
			t.Errorf("%s: context %d, known %v", name, got.ContextTokens, got.Known)
		}
		if got.Peak != want.peak || got.Compactions.Total() != want.compactions || got.Messages != want.messages ||
			got.Tokens.Output != want.output || got.BadLines != want.bad {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestOraclePrompts(t *testing.T) {
	for content, want := range map[string]int{
		`"do it"`:                                             1,
		`[{"type":"text","text":"do it"}]`:                    1,
		`[{"type":"image"}]`:                                  1,
		`[{"type":"tool_result","content":"x"}]`:              0,
		`[{"type":"text","text":"x"},{"type":"tool_result"}]`: 0,
		`"<command-name>/clear</command-name>"`:               0,
		`" <local-command-stdout>x"`:                          0,
		`"<bash-input>ls</bash-input>"`:                       0,
		`"\u003ccommand-name>x"`:                              0,
		`[{"type":"text","text":"[Request interrupted by user for tool use]"}]`: 0,
		`[]`: 0, `null`: 0, `{}`: 0, `7`: 0,
	} {
		line := []byte(`{"type":"user","message":{"content":` + content + "}}\n")
		if got := Oracle(line).Turns; got != want {
			t.Errorf("%s: %d turns, want %d", content, got, want)
		}
		for _, mark := range []string{"isMeta", "isSidechain", "isCompactSummary"} {
			marked := strings.Replace(string(line), "{", `{"`+mark+`":true,`, 1)
			if got := Oracle([]byte(marked)).Turns; got != 0 {
				t.Errorf("%s, %s: %d turns", content, mark, got)
			}
		}
	}
}

// FuzzOracle: any bytes are read, and cutting them between lines changes nothing
// that was said before.
func FuzzOracle(f *testing.F) {
	for _, seed := range Seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := Oracle(data)
		if got.Peak < 0 || got.BadLines > got.Lines || got.Known && got.ContextTokens <= 0 {
			t.Errorf("%+v", got)
		}
		OracleSubagent(data)
		OracleFleet(map[string][]byte{"a.jsonl": data, "b.jsonl": data})
	})
}
