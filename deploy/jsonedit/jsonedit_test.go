package jsonedit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPut(t *testing.T) {
	value := map[string][]string{"x": {"<y>"}}
	for _, tt := range []struct {
		name, before string
		path         []string
		want         string
	}{
		{
			"into nothing",
			`{}`,
			[]string{"k"},
			"{\n  \"k\": {\n    \"x\": [\n      \"<y>\"\n    ]\n  }\n}",
		},
		{
			"into blank space",
			"{ \n }\n",
			[]string{"k"},
			"{\n  \"k\": {\n    \"x\": [\n      \"<y>\"\n    ]\n  }\n}\n",
		},
		{
			"last",
			"{\n\t\"a\": 1e2\n}\n",
			[]string{"k"},
			"{\n\t\"a\": 1e2,\n\t\"k\": {\n\t\t\"x\": [\n\t\t\t\"<y>\"\n\t\t]\n\t}\n}\n",
		},
		{"compact", `{"a":[1.0]}`, []string{"k"}, `{"a":[1.0],"k":{"x":["<y>"]}}`},
		{
			"one line",
			`{"a": 1, "b": 2}`,
			[]string{"k"},
			`{"a": 1, "b": 2, "k": {"x":["<y>"]}}`,
		},
		{
			"into an empty object",
			"{\n  \"a\": {}\n}",
			[]string{"a", "k"},
			"{\n  \"a\": {\n    \"k\": {\n      \"x\": [\n        \"<y>\"\n      ]\n    }\n  }\n}",
		},
		{
			"into an empty array of one line",
			`{"a":[]}`,
			[]string{"a", "0"},
			`{"a":[{"x":["<y>"]}]}`,
		},
		{
			"into an array",
			"{\n  \"a\": [\n    1\n  ]\n}",
			[]string{"a", "1"},
			"{\n  \"a\": [\n    1,\n    {\n      \"x\": [\n        \"<y>\"\n      ]\n    }\n  ]\n}",
		},
		{
			"instead",
			"{\n  \"a\": 1,\n  \"b\": 2\n}",
			[]string{"a"},
			"{\n  \"a\": {\"x\":[\"<y>\"]},\n  \"b\": 2\n}",
		},
		{
			"instead of much",
			"{\n  \"a\": [\n    1\n  ],\n  \"b\": 2\n}",
			[]string{"a"},
			"{\n  \"a\": {\n    \"x\": [\n      \"<y>\"\n    ]\n  },\n  \"b\": 2\n}",
		},
		{
			"lines of Windows",
			"{\r\n  \"a\": 1\r\n}\r\n",
			[]string{"k"},
			"{\r\n  \"a\": 1,\r\n  \"k\": {\r\n    \"x\": [\r\n      \"<y>\"\r\n    ]\r\n  }\r\n}\r\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := Parse([]byte(tt.before))
			if err != nil {
				t.Fatal(err)
			}
			d.Put(value, tt.path...)
			if diff := cmp.Diff(tt.want, string(d.Bytes)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	const before = "{\n  \"a\": [\n    1, 2,\n    3\n  ],\n  \"b\": {\"c\": null},\n  \"d\": 4\n}\n"
	for _, tt := range []struct {
		path []string
		want string
	}{
		{[]string{"a"}, "{\n  \"b\": {\"c\": null},\n  \"d\": 4\n}\n"},
		{[]string{"b"}, "{\n  \"a\": [\n    1, 2,\n    3\n  ],\n  \"d\": 4\n}\n"},
		{[]string{"d"}, "{\n  \"a\": [\n    1, 2,\n    3\n  ],\n  \"b\": {\"c\": null}\n}\n"},
		{
			[]string{"b", "c"},
			"{\n  \"a\": [\n    1, 2,\n    3\n  ],\n  \"b\": {},\n  \"d\": 4\n}\n",
		},
		{
			[]string{"a", "0"},
			"{\n  \"a\": [\n    2,\n    3\n  ],\n  \"b\": {\"c\": null},\n  \"d\": 4\n}\n",
		},
		{
			[]string{"a", "2"},
			"{\n  \"a\": [\n    1, 2\n  ],\n  \"b\": {\"c\": null},\n  \"d\": 4\n}\n",
		},
		{[]string{"a", "3"}, before},
		{[]string{"x", "y"}, before},
	} {
		d, err := Parse([]byte(before))
		if err != nil {
			t.Fatal(err)
		}
		d.Remove(tt.path...)
		if diff := cmp.Diff(tt.want, string(d.Bytes)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.path, diff)
		}
	}
}

func TestRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "line 1: unexpected end of JSON input",
		"{\n  // mine\n}":                "line 2: a comment, which JSON does not have",
		"{\"a\": 1 /* mine */}":          "line 1: a comment, which JSON does not have",
		"{\n\"a\": 1,\n}":                "line 3: invalid character '}' looking for beginning of object key string",
		"{\n\"a\": 1":                    "line 2: unexpected end of JSON input",
		"{\"a\": {\"b\": 1,\n\"b\": 2}}": "line 2: \"b\" is there twice in one object",
		"{\"a\": {\"b\": 1,\n\"b\": 2},\n\"a\": 3}": "line 2: \"b\" is there twice in one object",
		"{} {}": "line 1: invalid character '{' after top-level value",
	} {
		_, err := Parse([]byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// FuzzText tests that an original text is restored, byte for byte, when a member that was
// added is removed.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		`{}`,
		`{"a":[1,{"b":"\u00e9"}],"c":{}}`,
		"{\n\t\"a\": -0.0,\n\t\"b\": []\n}\n",
		`[]`,
		`7`,
		"{\"a\":1}\r\n",
		`{"":{"":0}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse([]byte(text))
		if err != nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q is accepted as JSON", text)
		}
		if !d.Root.IsObject() || d.At("new") != nil {
			return
		}
		empty := len(d.Root.Children) == 0
		d.Put([]string{"x"}, "new")
		if got := d.At("new", "0"); got == nil || !json.Valid(d.Bytes) {
			t.Fatalf("%q became %q", text, d.Bytes)
		}
		d.Remove("new")
		if got := string(d.Bytes); got != text && !(empty && strings.TrimSpace(got) == "{}") {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
