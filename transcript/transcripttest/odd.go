package transcripttest

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Oddity is a way in which a line is a JSON object, but not as clients write it.
type Oddity uint8

// The oddities. Each is a reply of one line that counts as any other unless its
// comment says else.
const (
	NullUsage      Oddity = iota // no usage, no reading
	ListUsage                    // no usage
	TextUsage                    // no usage
	TopUsage                     // usage beside the message, not in it: none
	Negative                     // figures below 0 are 0
	Huge                         // beyond 2^63: a thousand million
	Infinite                     // beyond all floats
	Floats                       // whole numbers spelt as floats count
	Fractions                    // others are 0
	WrongTypes                   // strings, null, lists, objects are 0
	NullNested                   // the nested cache figures are null
	TwiceFigure                  // a key twice: the last one counts
	TwiceUsage                   //
	TwiceType                    //
	TwiceMessage                 // the last message is a string: no usage
	EscapedKeys                  // keys and type spelt with escapes
	UpperUsage                   // another key: no usage
	UpperType                    // another key: no type
	UpperSession                 // SESSION_ID beside sessionId
	OtherType                    // api-request: no reading
	NumberType                   // a type of 5: none
	LookAlikes                   // the keys once more, in a string
	LoneSurrogate                // half a character, as JavaScript writes it
	InvalidUTF8                  //
	DeepNesting                  // a thousand levels
	TextFlags                    // isSidechain "true" is not true
	SideLine                     // isSidechain true: a subagent's
	BadTime                      // counts, as if it had no time
	NumberTime                   //
	OffsetTime                   // the same time in another zone
	FineTime                     // the same time with more digits
	FailedUsage                  // an API error that names figures: nothing
	SyntheticUsage               // a synthetic row that names figures: nothing
	NoMessageID                  // a message of its own
	NoUUID                       //
	OneCall                      // one iteration that disagrees with the top, and counts
	PoorCall                     // one iteration that lacks figures: the top counts
	NoMessageCall                // two iterations, none a message: the top counts
	StandInCall                  // the last call is of a model that stood in, and counts
	AdvisedCall                  // calls of an advisor and of a compaction come last, the one before counts
	Spaced                       // white space between all tokens
	CRLF                         // a carriage return before the newline
	OutputOnly                   // spends tokens, is no reading
	EmptyCall                    // the last call read nothing: the top counts
	oddities
)

// Oddities lists all ways.
func Oddities() []Oddity { return allBelow(oddities) }

// Odd writes a reply of one line that is odd in one way.
func (s *Session) Odd(how Oddity) {
	r := s.lineOf(s.message(Reply{}), s.sentence(0), true)
	r.odd = true
	switch {
	case how <= TopUsage || how == TwiceMessage || how >= UpperUsage && how <= NumberType && how != UpperSession,
		how == FailedUsage, how == SyntheticUsage:
		r.effect = effect{}
	case how == BadTime || how == NumberTime:
		r.effect.undated = true
	case how == SideLine:
		r.side = true
	case how == OutputOnly:
		r.effect.deed = spends
	}
	r.setUsage(how)
	r.edit = s.oddEdit(r, how)
	if how == NoMessageID {
		r.effect.message = ""
	}
	last := s.last
	s.write(r)
	s.last = last
}

// oddUsage is what a usage object says: its figures as they are spelt, and what they are worth.
type oddUsage struct {
	input, creation, read, output string
	tokens                        Tokens
	context                       int64 // 0: as the tokens say
}

func oddUsages() map[Oddity]oddUsage {
	return map[Oddity]oddUsage{
		Negative:      {"-5", "-1e3", "50000", "-7", Tokens{0, 0, 50_000, 0}, 0},
		Huge:          {"99999999999999999999", "9223372036854775808", "1", "1000000001", Tokens{1e9, 1e9, 1, 1e9}, 0},
		Infinite:      {"1e400", "-1e400", "51000", "9", Tokens{1e9, 0, 51_000, 9}, 0},
		Floats:        {"1e3", "1.0", "4.5e4", "12.00", Tokens{1_000, 1, 45_000, 12}, 0},
		Fractions:     {"1.5", "2", "52000", "3.25", Tokens{0, 2, 52_000, 0}, 0},
		WrongTypes:    {`"12"`, "null", "53000", `{"a":[1]}`, Tokens{0, 0, 53_000, 0}, 0},
		NullNested:    {"1", "2", `54000,"cache_creation":null`, "3", Tokens{1, 2, 54_000, 3}, 0},
		TwiceFigure:   {`800000,"input_tokens":4`, "2", `9,"cache_read_input_tokens":55000`, "3", Tokens{4, 2, 55_000, 3}, 0},
		TwiceUsage:    {"5", "2", "56000", "3", Tokens{5, 2, 56_000, 3}, 0},
		OneCall:       {"6", "2", `57000,"iterations":[` + calls("message 1") + `]`, "3", Tokens{6, 2, 57_000, 3}, 1},
		PoorCall:      {"6", "2", `57000,"iterations":[{"type":"message","input_tokens":1,"cache_read_input_tokens":0,"output_tokens":0}]`, "3", Tokens{6, 2, 57_000, 3}, 0},
		NoMessageCall: {"7", "2", `58000,"iterations":[{"type":"a","input_tokens":1},{"input_tokens":2}]`, "3", Tokens{7, 2, 58_000, 3}, 0},
		StandInCall:   {"7", "2", `58000,"iterations":[` + calls("message 40000", "fallback_message 41000") + `]`, "3", Tokens{7, 2, 58_000, 3}, 41_000},
		AdvisedCall:   {"7", "2", `58000,"iterations":[` + calls("message 40000", "advisor_message 9000", "compaction 8000") + `]`, "3", Tokens{7, 2, 58_000, 3}, 40_000},
		EmptyCall:     {"8", "2", `59000,"iterations":[` + calls("message 1", "message 0") + `]`, "3", Tokens{8, 2, 59_000, 3}, 0},
		OutputOnly:    {"0", "0", "0", "77", Tokens{0, 0, 0, 77}, 0},
	}
}

// setUsage changes the usage object, and what it says.
func (r *record) setUsage(how Oddity) {
	if u, ok := oddUsages()[how]; ok {
		r.usage = members{'{'}.raw("input_tokens", u.input).raw("cache_creation_input_tokens", u.creation).
			raw("cache_read_input_tokens", u.read).raw("output_tokens", u.output).shut()
		r.effect.tokens, r.effect.context = u.tokens, cmp.Or(u.context, u.tokens.Context())
	}
	switch how {
	case NullUsage, TopUsage:
		r.usage = []byte("null")
	case ListUsage:
		r.usage = []byte(`[{"input_tokens":900000}]`)
	case TextUsage:
		r.usage = []byte(`"{\"input_tokens\":900000}"`)
	case TwiceUsage:
		r.usage = append([]byte(`{"input_tokens":800000,"output_tokens":8000},"usage":`), r.usage...)
	}
}

// calls are elements of iterations, each told as its type and its input.
func calls(list ...string) string {
	var b strings.Builder
	for i, one := range list {
		kind, input, _ := strings.Cut(one, " ")
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"type":%q,"input_tokens":%s,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":3}`, kind, input)
	}
	return b.String()
}

// oddEdit is the change to the line as a whole, nil for none.
func (s *Session) oddEdit(r *record, how Oddity) func([]byte) []byte {
	if how == UpperSession { // it alone draws a number
		return insert(`"SESSION_ID":"` + strings.ToUpper(newUUID(s.rng)) + `","CWD":"/","Uuid":"x"`)
	}
	timestamp := `"timestamp":"` + r.at.UTC().Format(stamp) + `"`
	inZone := r.at.In(time.FixedZone("", 5*3600+1800)).Format("2006-01-02T15:04:05.000Z07:00")
	return map[Oddity]func([]byte) []byte{
		TopUsage:     insert(`"usage":{"input_tokens":900000,"cache_read_input_tokens":1,"output_tokens":1}`),
		TwiceType:    insert(`"type":"user"`),
		TwiceMessage: func(b []byte) []byte { return append(b[:len(b)-1], `,"message":"none"}`...) },
		EscapedKeys: replace(`"usage":`, `"us\u0061ge":`, `"input_tokens":`, `"input\u005ftokens":`, `"message":`, `"m\u0065ssage":`,
			`"type":"assistant"`, `"t\u0079pe":"assist\u0061nt"`, `"timestamp":`, `"timest\u0061mp":`),
		UpperUsage:     replace(`"usage":`, `"Usage":`),
		UpperType:      replace(`"type":"assistant"`, `"Type":"assistant"`),
		OtherType:      replace(`"type":"assistant"`, `"type":"api-request"`),
		NumberType:     replace(`"type":"assistant"`, `"type":5`),
		LookAlikes:     insert(`"note":"\"type\":\"user\",\"usage\":{\"input_tokens\":900000},\\\"isSidechain\\\":true,\\\\","b":"}]{[\\"`),
		LoneSurrogate:  insert(`"note":"\ud83d, \uDE00\ud83d"`),
		InvalidUTF8:    insert("\"note\":\"\xff\xc3(\xed\xa0\x80\""),
		DeepNesting:    insert(`"deep":` + strings.Repeat(`[{"usage":`, 500) + "1" + strings.Repeat("}]", 500)),
		TextFlags:      replace(`"isSidechain":false`, `"isSidechain":"true","isApiErrorMessage":1`),
		SideLine:       replace(`"type":"assistant"`, `"isSidechain":true,"type":"assistant"`),
		FailedUsage:    insert(`"isApiErrorMessage":true`),
		SyntheticUsage: replace(`"model":"`+s.model+`"`, `"model":"<synthetic>"`, `"message":{"usage"`, `"message":{"model":"<synthetic>","usage"`),
		NoMessageID:    replace(`"id":"`+r.effect.message+`",`, ""),
		NoUUID:         replace(`"uuid":"`+r.uuid+`",`, ""),
		Spaced:         respace,
		CRLF:           func(b []byte) []byte { return append(b, '\r') },
		OffsetTime:     replace(timestamp, `"timestamp":"`+inZone+`"`),
		BadTime:        replace(timestamp, `"timestamp":"soon"`),
		NumberTime:     replace(timestamp, `"timestamp":1795162410022`),
		FineTime:       replace(timestamp, `"timestamp":"`+r.at.UTC().Truncate(time.Millisecond).Format("2006-01-02T15:04:05.000000000Z")+`"`),
	}[how]
}

// insert puts a member before all others.
func insert(member string) func([]byte) []byte {
	return func(b []byte) []byte {
		return append([]byte("{"+member+","), b[1:]...)
	}
}

// replace exchanges the first of each old text for the new one that follows it.
func replace(pairs ...string) func([]byte) []byte {
	return func(b []byte) []byte {
		for i := 0; i < len(pairs); i += 2 {
			b = bytes.Replace(b, []byte(pairs[i]), []byte(pairs[i+1]), 1)
		}
		return b
	}
}

// respace puts white space wherever JSON allows it.
func respace(b []byte) []byte {
	var out []byte
	quoted, escaped := false, false
	for _, c := range b {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case !quoted && strings.IndexByte("{}[],:", c) >= 0:
			out = append(out, ' ', c, '\t')
			continue
		}
		out = append(out, c)
	}
	return out
}
