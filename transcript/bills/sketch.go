package bills

import (
	"sm/transcript"
)

const (
	// sketchBytes is the length of the beginning of a prompt that is used.
	sketchBytes = 1024
	// sketchWords is the minimum number of words: a shorter prompt, such as "go
	// on", does not count as a repetition.
	sketchWords = 5
)

// Sketch summarizes a text in 16 numbers of 4 bits. Similar texts have mostly the
// same numbers. Only letters and digits count, and only which words are adjacent;
// 0 means that the text has too few words.
func Sketch(text []byte) transcript.Key {
	var least [16]uint64
	words := 0
	last := uint64(0)
	word := uint64(0)
	end := func() {
		if word == 0 {
			return
		}
		for _, h := range [2]uint64{word, last ^ word*3} {
			h = uint64(transcript.Join(transcript.Key(h)))
			if i := h >> 60; least[i] == 0 || h < least[i] {
				least[i] = h
			}
		}
		words++
		last = word
		word = 0
	}
	for _, c := range text[:min(len(text), sketchBytes)] {
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 0x80:
		default:
			end()
			continue
		}
		word = (word ^ uint64(c) ^ 0xcbf29ce484222325) * 0x100000001b3
	}
	end()
	if words < sketchWords {
		return 0
	}
	var s transcript.Key
	for i, h := range least {
		if h != 0 {
			s |= transcript.Key(1+h%15) << (4 * i)
		}
	}
	return s
}

// Alike reports whether two sketches are of similar texts: three of four numbers
// that either has are the same.
func Alike(a, b transcript.Key) bool {
	same := 0
	used := 0
	for ; a|b != 0; a, b = a>>4, b>>4 {
		if (a|b)&15 == 0 {
			continue
		}
		used++
		if a&15 == b&15 {
			same++
		}
	}
	return used > 0 && same*4 >= used*3
}
