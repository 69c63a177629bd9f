package alerts

import (
	"cmp"
	"fmt"
	"strings"
	"text/template"
	"unicode"

	"sm/transcript"
	"sm/transcript/wording"
)

// Messages are the texts of notices, in the language of text/template. An empty text is
// replaced by the default. Templates get [Data]. The tags are those of the configuration.
type Messages struct {
	Warning   string `yaml:"warning" is:"template"`
	Critical  string `yaml:"critical" is:"template"`
	Compacted string `yaml:"compacted" is:"template"`
	Storm     string `yaml:"storm" is:"template"`
	NoData    string `yaml:"no_data" is:"template"`
	Forecast  string `yaml:"forecast" is:"template"`
}

// Data holds the values that texts of notices can show, as of the time of the
// notice. Values that do not apply are empty.
type Data struct {
	// Name is the name of the agent that the notice is about, else its id, with
	// letters, digits, and . _ - only. For the operator it is the agent's title
	// and project.
	Name    string
	Percent int // share of the window, 0..100
	// Tokens, Window and PreTokens are written with separators, as 104,000.
	Tokens    string // of the context
	Window    string
	PreTokens string // before the compaction
	Trigger   string // auto, manual or unknown
	Count     int    // of compactions in a storm
	// Minutes is the time in which the compactions of a storm happened, or the
	// time without a reading, at least 1; in a forecast the minutes of work
	// left, 0 if unknown.
	Minutes int
	// Turns is the number of turns in which the compactions of a storm
	// happened, 0 if Minutes has the time; in a forecast the turns left.
	Turns int
	// Replies is the likely number of replies before a compaction; in four of
	// five cases the number is between RepliesLow and RepliesHigh. All are 0 if
	// unknown.
	Replies, RepliesLow, RepliesHigh int
}

// defaultTexts returns texts that are [Plain] for any data: if no hook of the
// client works, they are typed into its pane, where a shell may run instead of
// the client.
func defaultTexts() [Kinds]string {
	return [Kinds]string{
		KindWarning:   wording.Context + "Context at {{.Percent}}%, {{.Tokens}} tokens. A good time to write a handoff document and run sm handoff PATH.",
		KindCritical:  wording.Context + "Context at {{.Percent}}%, critically high. Write your handoff document now and run sm handoff PATH. Compaction is near.",
		KindCompacted: wording.Context + "{{.Name}} was compacted, {{.Trigger}}{{with .PreTokens}}, {{.}} tokens{{end}}, and is still running.",
		KindStorm:     wording.Context + "{{.Name}} was compacted {{.Count}} times {{if .Turns}}within {{.Turns}} turn{{if gt .Turns 1}}s{{end}}{{else}}in {{.Minutes}} min{{end}}: its context fills as fast as it is emptied.",
		KindNoData:    wording.Context + "{{.Name}} is active, but its context size has not been seen for {{.Minutes}} min. sm doctor shows which source is silent.",
		KindForecast: wording.Context + "Context at {{.Percent}}%, {{.Tokens}} tokens. " +
			"{{if .Replies}}It is compacted in about {{.Replies}} {{if eq .Replies 1}}reply{{else}}replies{{end}}, " +
			"{{.RepliesLow}} to {{.RepliesHigh}}{{with .Minutes}}, about {{.}} min of work{{end}}.{{else}}It is compacted soon.{{end}}",
	}
}

// maxTextBytes limits the output of a template.
const maxTextBytes = 4096

// Render returns the text of a template for data. It fails if the text has more
// than 4096 bytes.
func Render(t *template.Template, data any) (string, error) {
	var b strings.Builder
	err := t.Execute(&b, data)
	if err == nil && b.Len() > maxTextBytes {
		err = fmt.Errorf("yields more than %d bytes; write a shorter text", maxTextBytes)
	}
	return b.String(), err
}

// templates parses the texts and renders each of them once.
func (m Messages) templates() (t [Kinds]*template.Template, err error) {
	usual := defaultTexts()
	for k, own := range [Kinds]string{
		m.Warning,
		m.Critical,
		m.Compacted,
		m.Storm,
		m.NoData,
		m.Forecast,
	} {
		name := Kind(k).String()
		t[k], err = template.New(name).Parse(cmp.Or(own, usual[k]))
		if err == nil {
			_, err = Render(t[k], Data{})
		}
		if err != nil {
			return t, fmt.Errorf("messages.%s: %w", name, err)
		}
	}
	return t, nil
}

// text renders a notice. A template that fails for this data, although it
// passed the check, is replaced by its default. If the user's template yields a
// text that is not [Plain], plain is the default text, else "".
func (e *Engine) text(k Kind, d Data) (text, plain string) {
	text, err := Render(e.texts[k], d)
	if err == nil && Plain(text) {
		return text, ""
	}
	usual, _ := Render(template.Must(template.New("").Parse(defaultTexts()[k])), d)
	if err != nil {
		return usual, ""
	}
	return text, usual
}

// Warning returns the key of the agent's warning if it has not been read, and
// its text with the newest figures; the zero key for none.
func (e *Engine) Warning(agent string) (key Key, text, plain string) {
	a := e.agent(agent)
	if sent := &a.Sent[KindWarning]; sent.Open && sent.Read == 0 {
		key = sent.Key
		text, plain = e.text(KindWarning, a.data())
	}
	return key, text, plain
}

// special lists the characters with a meaning in shells, and the @, which is
// replaced in texts for agents.
const special = ";|&$<>(){}[]*?!#~'\"`\\@"

// Plain reports whether a text is safe to type into a shell: after its heading,
// such as "[sm context] ", it has no control character and no character with a
// meaning in shells.
func Plain(text string) bool {
	if heading, ok := strings.CutPrefix(text, wording.Heading); ok {
		text = strings.Replace(heading, "] ", " ", 1)
	}
	return !strings.ContainsAny(text, special) &&
		!strings.ContainsFunc(text, unicode.IsControl)
}

// data returns the fields that every notice about an agent can show.
func (a *AgentState) data() Data {
	d := Data{
		// A notice may be typed into a pane.
		Name:    wording.Reduce(cmp.Or(strings.TrimSpace(a.Name), a.Agent), "._-"),
		Trigger: transcript.Unknown.String(),
	}
	if r, ok := a.current(); ok {
		d.Percent = r.window().Percent(r.Tokens)
		d.Tokens = thousands(r.Tokens)
		d.Window = thousands(r.Window)
	}
	return d
}

// thousands formats n with separators, and 0 as "".
func thousands(n int64) string {
	if n <= 0 {
		return ""
	}
	return wording.Thousands(n)
}
