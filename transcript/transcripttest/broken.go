package transcripttest

import "bytes"

// Breakage is a way in which a line is no JSON object.
type Breakage uint8

// The breakages.
const (
	Truncated    Breakage = iota // its end is missing
	TwoObjects                   // two records on one line
	Glued                        // an unterminated line, and the next record right behind it
	NULs                         // NUL bytes before a record
	NULInside                    // NUL bytes in a string
	Noise                        // no JSON at all
	Array                        // JSON, but no object
	Number                       //
	Text                         //
	Null                         //
	Unclosed                     // only the last brace is missing
	Comma                        // a comma before the last brace
	Control                      // a raw control character in a string
	LeadingZero                  // a number such as 01
	NotANumber                   // NaN
	BadEscape                    // \x in a string
	SingleQuotes                 //
	breakages
)

// Breakages lists all ways.
func Breakages() []Breakage { return allBelow(breakages) }

func allBelow[T ~uint8](end T) (list []T) {
	for x := range end {
		list = append(list, x)
	}
	return list
}

// Break writes a line that is no record; what it would have said is lost.
func (s *Session) Break(how Breakage) {
	if how == Glued {
		s.Tail()
		s.half, s.torn = nil, nil
		s.books.file.Tail = 0
	} else {
		s.EndTail()
	}
	r := s.lineOf(s.message(Reply{}), s.sentence(0), true)
	good := s.render(nil, r)
	line := append(s.broken(how, good), '\n')
	s.put(line)
	s.books.line(len(line))
	s.books.file.BadLines++
}

func (s *Session) broken(how Breakage, good []byte) []byte {
	switch how {
	case Truncated:
		return good[:1+s.rng.IntN(len(good)-1)]
	case TwoObjects:
		return append(bytes.Clone(good), good...)
	case NULs:
		return append(make([]byte, 1+s.rng.IntN(9)), good...)
	case Noise:
		return []byte("Killed: " + words(s.rng, 5))
	case Array:
		return append(append([]byte{'['}, good...), ']')
	case Number:
		return []byte("1795162410022")
	case Text:
		return appendQuoted(nil, string(good))
	case Null:
		return []byte("null")
	case Unclosed:
		return good[:len(good)-1]
	case Comma:
		return append(bytes.Clone(good[:len(good)-1]), ",}"...)
	}
	inserted := map[Breakage]string{ // nothing behind an unterminated line
		NULInside: "\"x\":\"a\x00b\",", Control: "\"x\":\"a\tb\",", LeadingZero: `"x":01,`, NotANumber: `"x":NaN,`,
		BadEscape: `"x":"\x41",`, SingleQuotes: `'x':1,`,
	}
	return bytes.Replace(good, []byte("{"), []byte("{"+inserted[how]), 1)
}

// Blank writes a line of white space, which is no line at all.
func (s *Session) Blank() {
	s.EndTail()
	line := pick(s.rng, []string{"\n", " \n", "\r\n", "\t  \n"})
	s.put([]byte(line))
	s.books.file.Bytes += int64(len(line))
}

// Tail writes the beginning of a reply and stops within the line, as a reader sees
// it that comes between two writes, or after a crash. [Session.EndTail] writes the
// rest; so does whatever is written next.
func (s *Session) Tail() {
	s.EndTail()
	r := s.lineOf(s.message(Reply{}), s.sentence(0), true)
	line := append(s.render(nil, r), '\n')
	cut := 1 + s.rng.IntN(len(line)-1)
	s.put(line[:cut])
	s.half, s.torn = line[cut:], r
	s.books.file.Bytes += int64(cut)
	s.books.file.Tail = int64(cut)
}

// EndTail writes what is missing of an unterminated line, if there is one.
func (s *Session) EndTail() {
	r := s.torn
	if r == nil {
		return
	}
	s.put(s.half)
	s.books.line(len(s.half))
	s.books.file.Tail = 0
	s.half, s.torn = nil, nil
	s.context, s.output = r.effect.context, r.effect.tokens.Output
	s.account(r)
}
