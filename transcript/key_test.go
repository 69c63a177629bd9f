package transcript

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func someKeys() []Key {
	return []Key{
		KeyOf([]byte("a")), KeyOf([]byte("12345678")), KeyOf([]byte("msg_01ABC")),
		KeyOf([]byte("bc795bcb-2698-4ad6-b28a-2bbc95feb4be")), Join(), Join(1), Join(
			1,
			2,
		), Join(
			2,
			1,
		), Join(
			0,
			0,
		),
	}
}

// TestKeysAreStored tests stored keys: a change here needs another version of the state file.
func TestKeysAreStored(t *testing.T) {
	want := []Key{
		0x2019769e53639ba2,
		0x5cf5ead128761387,
		0xd7596928cb745483,
		0xeef3fb1150f4d99f,
		0xc52b8696cdeb376e,
		0xba41d8077cb93577,
		0x236713a4e27c7c84,
		0x40cd5cfd599aa4dc,
		0xbefd5e41aa27a92e,
	}
	if d := cmp.Diff(want, someKeys()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if KeyOf(nil) != 0 || KeyOf([]byte{}) != 0 {
		t.Error("the key of an empty text is not 0")
	}
}

func TestKeysDoNotCollide(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	keys := make([]Key, 0, 1<<22)
	var raw [16]byte
	for i := range 1 << 20 {
		binary.LittleEndian.PutUint64(raw[:], r.Uint64())
		binary.LittleEndian.PutUint64(raw[8:], r.Uint64())
		k := KeyOf(fmt.Appendf(
			nil,
			"%x-%x-%x-%x-%x",
			raw[:4],
			raw[4:6],
			raw[6:8],
			raw[8:10],
			raw[10:],
		))
		counted := KeyOf(fmt.Appendf(nil, "00000000-0000-4000-8000-%012x", i))
		keys = append(keys, k, counted, Join(k, Key(i)), Join(Key(i), 5))
	}
	keys = append(keys, 0)
	slices.Sort(keys)
	if n := len(keys) - len(slices.Compact(keys)); n != 0 {
		t.Errorf("%d collisions", n)
	}
}

func TestKeysOfPrefixesAndZeros(t *testing.T) {
	seen := map[Key]string{}
	for n := range 40 {
		for _, s := range []string{
			string(make([]byte, n)),
			"x" + string(make([]byte, n)),
			fmt.Sprintf("%0*d", n, 7),
		} {
			if have, ok := seen[KeyOf([]byte(s))]; ok && have != s {
				t.Errorf("%q and %q have one key", have, s)
			}
			seen[KeyOf([]byte(s))] = s
		}
	}
}
