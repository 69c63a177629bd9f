package hook

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

func seeds(f *testing.F) {
	for _, name := range []string{"hooks.jsonl", "statusline.jsonl"} {
		for _, line := range lines(f, name) {
			f.Add(line)
		}
	}
	for _, s := range []string{
		`{"a":{"b":["}"]},"c":"\\\"","d":-1.5e3}`, ` {} `, `{"a":1,"a":2}`, `{"\u0061":null}`, `{"a":"\\"}x`, "{\"a\":\"\xff\"}", `{"a":[}`,
		"{\"\xa8\":1}", `{"session_id":"a","event":"compaction","trigger":"auto"}`, `{"tool_input":{"\ud800":1}}`, `{"agent_id":[1,"]"]}`,
	} {
		f.Add([]byte(s))
	}
}

func FuzzDecode(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := Decode(data); err == nil {
			b := p.Encode()
			again, err := Decode(b)
			if err != nil || len(b) > MaxBody || !json.Valid(b) {
				t.Fatalf("%d bytes, error %v: %q", len(b), err, b)
			}
			if len(b) < MaxBody/2 && !bytes.Equal(again.Encode(), b) {
				t.Fatalf("%q became %q", b, again.Encode())
			}
			for _, a := range []Answer{{
				Event:   p.Event,
				Context: p.Prompt,
			}, {
				Event: p.Event,
				Deny:  p.Prompt,
			}} {
				if b := a.Encode(); len(b) > 0 && !json.Valid(b) {
					t.Fatalf("answer %q", b)
				}
			}
		}
		if s, err := DecodeStatus(data); err == nil {
			b := s.Encode()
			again, err := DecodeStatus(b)
			if err != nil || !reflect.DeepEqual(again, s) || len(b) > MaxBody {
				t.Fatalf("error %v: %+v became %+v", err, s, again)
			}
		}
		_ = Unmarshal(data, new(ContextUsage))
	})
}

// FuzzFrame tests that a frame ends where the object does, however it arrives.
func FuzzFrame(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var whole Frame
		n, done := whole.Feed(data)
		var byByte Frame
		for i := range data {
			k, end := byByte.Feed(data[i : i+1])
			if end {
				if !done || i+k != n {
					t.Fatalf("%q: whole ends at %d (%v), bytes at %d", data, n, done, i+k)
				}
				break
			}
		}
		if json.Valid(data) && len(bytes.TrimSpace(data)) > 0 &&
			bytes.TrimSpace(data)[0] == '{' {
			if !done || !json.Valid(data[:n]) {
				t.Fatalf("%q: ends at %d (%v)", data, n, done)
			}
		}
	})
}
