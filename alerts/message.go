package alerts

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"sm/transcript"
	"sm/transcript/wording"
)

// Messages are the texts of notices, in the language of text/template without range,
// define, block and template; an empty one stands for the default. Their data is [Data].
type Messages struct {
	Warning, Critical, Compacted, Storm, NoData, Forecast string
}

// Data is what the texts of notices can show. Figures are of the time at which the
// notice is said; those that a notice does not know are empty.
type Data struct {
	Name    string // of the agent that the notice is about, else its id; letters, digits, and . _ -
	Percent int    // of the window, 0..100
	// Tokens, Window and PreTokens are written with separators, as 104,000.
	Tokens    string // of the context
	Window    string
	PreTokens string // before the compaction
	Trigger   string // auto, manual or unknown
	Count     int    // of compactions in a storm
	Minutes   int    // in which they happened, or without a reading, at least 1; or of work before a compaction, 0 if unknown
	Turns     int    // in which they happened, 0 if in Minutes; or left before a compaction
	// Replies are likely to be left before a compaction, and four times out of five between RepliesLow and RepliesHigh;
	// all are 0 if that is unknown.
	Replies, RepliesLow, RepliesHigh int
}

// defaultTexts are [Plain] whatever the data: where no hook of the agent's client works
// they are typed into its pane, and a shell that stands there must make nothing of them.
func defaultTexts() [kinds]string {
	return [kinds]string{
		KindWarning:   wording.Context + "Context at {{.Percent}}%, {{.Tokens}} tokens. A good time to write a handoff document and run sm handoff PATH.",
		KindCritical:  wording.Context + "Context at {{.Percent}}%, critically high. Write your handoff document now and run sm handoff PATH. Compaction is near.",
		KindCompacted: wording.Context + "{{.Name}} was compacted, {{.Trigger}}{{with .PreTokens}}, {{.}} tokens{{end}}, and is still running.",
		KindStorm:     wording.Context + "{{.Name}} was compacted {{.Count}} times {{if .Turns}}within {{.Turns}} turns{{else}}in {{.Minutes}} min{{end}}: its context fills as fast as it is emptied.",
		KindNoData:    wording.Context + "{{.Name}} is active, but its context size has not been seen for {{.Minutes}} min. sm doctor shows which source is silent.",
		KindForecast: wording.Context + "Context at {{.Percent}}%, {{.Tokens}} tokens. " +
			"{{if .Replies}}It is compacted in about {{.Replies}} {{if eq .Replies 1}}reply{{else}}replies{{end}}, " +
			"{{.RepliesLow}} to {{.RepliesHigh}}{{with .Minutes}}, about {{.}} min of work{{end}}.{{else}}It is compacted soon.{{end}}",
	}
}

// templates parses the texts and tries each.
func (m Messages) templates() (t [kinds]*Template, err error) {
	texts := defaultTexts()
	for k, own := range [kinds]string{m.Warning, m.Critical, m.Compacted, m.Storm, m.NoData, m.Forecast} {
		if own != "" {
			texts[k] = own
		}
		name := Kind(k).String()
		if t[k], err = ParseTemplate(name, texts[k]); err == nil {
			_, err = t[k].Execute(Data{})
		}
		if err != nil {
			return t, fmt.Errorf("messages.%s: %w", name, err)
		}
	}
	return t, nil
}

// text renders a notice. A template that fails for these figures alone, having
// passed the trial, gives way to its default. plain is the default where a template of the
// user's has made something that is not [Plain], else "".
func (e *Engine) text(k Kind, d Data) (text, plain string) {
	text, err := e.texts[k].Execute(d)
	if err == nil && Plain(text) {
		return text, ""
	}
	var usual strings.Builder
	_ = template.Must(template.New("").Parse(defaultTexts()[k])).Execute(&usual, d) // it has been tried
	if err != nil {
		return usual.String(), ""
	}
	return text, usual.String()
}

// special are the characters that mean something to a shell, and the @ that the sanitiser
// would write in other characters.
const special = ";|&$<>(){}[]*?!#~'\"`\\@"

// Plain says whether a shell can make nothing of a text behind its heading, such as
// "[sm context] ": it holds no character that is special to one, and no control character.
func Plain(text string) bool {
	if heading, ok := strings.CutPrefix(text, wording.Heading); ok {
		text = strings.Replace(heading, "] ", " ", 1)
	}
	return !strings.ContainsAny(text, special) && !strings.ContainsFunc(text, unicode.IsControl)
}

// data is what every notice about an agent can show.
func (a *AgentState) data() Data {
	d := Data{Name: a.title(), Trigger: transcript.Unknown.String()}
	if r, ok := a.current(); ok {
		d.Percent, d.Tokens, d.Window = percent(r), thousands(r.Tokens), thousands(r.Window)
	}
	return d
}

// title is how others call the agent, reduced to letters, digits, dots, underscores and
// hyphens: a notice may be typed into a pane.
func (a *AgentState) title() string {
	name := cmp.Or(strings.TrimSpace(a.Name), string(a.Agent))
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

func percent(r Reading) int {
	return r.window().Percent(r.Tokens)
}

// thousands writes n with separators; 0 is unknown.
func thousands(n int64) string {
	if n <= 0 {
		return ""
	}
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
