package state

import (
	"encoding/binary"
	"math"
	"reflect"
	"strings"
	"time"

	"sm/transcript"
)

// The layout of schema 1, up to sm 0.1: records in their own encoding, and
// claims in chunks that refer to their owners by number.

const (
	ownersBucket = "owners"
	ownersBlock  = 64 // owners in a record
)

// The records of schema 1: names of fields with their types. The types are b
// for a flag, i and k for a fixed 64-bit time and key, n for a signed number, r
// for a float, s for a text, t for seconds with nanoseconds and u for an unsigned
// number. (…) is a record with its length, {…} one without; * is a list with
// its length, digits one without.
const (
	oldUsage     = "(Input:n CacheCreation:n CacheRead:n Output:n)"
	oldTokens    = "{Input:u CacheCreation:u CacheRead:u Output:u}"
	oldHistogram = "(Counts:*u Sum:r)"
	oldCost      = "{USD:r Known:b}"
	oldSession   = "(Reading:(At:i Tokens:n Cleared:n) Blank:b Peak:n Compactions:*n Turns:n InTurn:b Messages:n SideMessages:n" +
		" Tokens:" + oldUsage + " SideTokens:" + oldUsage + " Model:s Version:s CWD:s ID:s Started:i Active:i Bytes:n Lines:n Bad:n" +
		" Particulars:{Client:s Parent:s Window:n Estimate:n})"
	oldCompaction = "(Key:k Was:k Own:k Stamp:k Digest:k At:i Trigger:n PreTokens:n Millis:n Undecided:b Boundary:b Copied:b)"
	oldFile       = "{Cursor:(Path:s Dev:u Ino:u Offset:n Size:n Modified:i Head:k Tail:k) Name:s Parent:s Session:" + oldSession +
		" Inherited:(Messages:n SideMessages:n Tokens:" + oldUsage + " SideTokens:" + oldUsage + " Compactions:*n)" +
		" Key:s Copies:*k Known:*k Title:(Text:s Source:n) Undecided:*" + oldCompaction + " Earlier:*" + oldSession + "}"
	oldBill = "(Kind:n Key:k At:i Trigger:n Before:n After:n Millis:n Replies:n Reads:n Rereads:n Bytes:n Tokens:n Reruns:n Reedits:n" +
		" Restated:n Regrown:n Done:b Files:*(Key:k Name:s Reads:n Tokens:n) Work:*(Tool:n Key:k Name:s Bytes:n Tokens:n) Grown:*n)"
	oldRecord = "{SessionID:s Agent:s Label:s Seen:t Counted:*n PID:n ProcStart:s" +
		" Totals:{List:*(USD:r PID:n Start:s) Bills:{List:*" + oldBill + " Dear:n}}}"
	oldCounters = "{Compactions:*u Tokens:(Input:u CacheCreation:u CacheRead:u Output:u) Lines:(Good:u Bad:u) Bytes:u" +
		" PreTokens:" + oldHistogram + " Duration:" + oldHistogram + " Cost:(USD:r Known:b)" +
		" Today:(Begins:i Ends:i Tokens:u Cost:" + oldCost + ") Bills:3(Reads:u Rereads:u Tokens:u) Dear:*n" +
		" Others:*(Client:s Compactions:*u Tokens:" + oldTokens + " PreTokens:" + oldHistogram + " Duration:" + oldHistogram +
		" Limits:2{At:i Resets:i Used:r} Attempts:*u Storms:u)}"
	oldHead = "{Created:t Settled:b}"
)

// migration converts the records of schema 1. Owners come first.
type migration struct {
	put    putFunc
	owners map[uint64][]byte
}

func (m *migration) record(bucket string, key, data []byte) error {
	layout := map[string]string{
		"meta/head":     oldHead,
		"meta/counters": oldCounters,
		filesBucket:     oldFile,
		sessionsBucket:  oldRecord,
	}
	kind := bucket
	switch bucket {
	case ownersBucket:
		number := uint64(binary.BigEndian.Uint32(key)) * ownersBlock
		for ; len(data) >= 8; data = data[8:] {
			m.owners[number] = keyBytes(transcript.Key(binary.LittleEndian.Uint64(data)))
			number++
		}
		return nil
	case messagesBucket, compactionsBucket:
		return m.claims(bucket, key, data)
	case metaBucket:
		kind += "/" + string(key)
	}
	if layout[kind] != "" {
		var err error
		if data, err = encoding.Marshal(decodeOld(layout[kind], data)); err != nil {
			return err
		}
	}
	return m.put(bucket, key, data)
}

// claims decodes a chunk: each claim is its distance from the previous one, the
// first from the key of the chunk, and the number of its owner.
func (m *migration) claims(bucket string, key, data []byte) error {
	claimed := binary.BigEndian.Uint64(key)
	for len(data) > 0 {
		distance, n := binary.Uvarint(data)
		number, used := binary.Uvarint(data[n:])
		claimed += distance
		data = data[n+used:]
		if owner := m.owners[number]; owner != nil {
			if err := m.put(bucket, keyBytes(transcript.Key(claimed)), owner); err != nil {
				return err
			}
		}
	}
	return nil
}

// decodeOld decodes a record by its layout, as maps and slices. It omits zero
// fields, and fields that are newer than the record. It panics if the record is
// invalid.
func decodeOld(layout string, data []byte) any {
	d := oldDecoder(data)
	v, _ := d.value(layout)
	return v
}

// An oldDecoder has the remaining bytes of a record.
type oldDecoder []byte

// value decodes a value and returns the rest of the layout.
func (d *oldDecoder) value(layout string) (v any, rest string) {
	kind := layout[0]
	rest = layout[1:]
	switch {
	case kind == '(':
		own := d.record()
		return own.fields(rest)
	case kind == '{':
		return d.fields(rest)
	case kind == '*':
		return d.list(int(d.varint()), rest)
	case kind >= '0' && kind <= '9':
		return d.list(int(kind-'0'), rest)
	case len(*d) == 0: // the record is older than the field
		return nil, rest
	}
	switch kind {
	case 'b':
		v = d.varint() != 0
	case 'i':
		v = int64(d.fixed())
	case 'k':
		v = d.fixed()
	case 'n':
		v = d.varint()
	case 'r':
		v = math.Float64frombits(d.fixed())
	case 's':
		v = string(d.record())
	case 't':
		seconds := d.varint()
		v = time.Unix(seconds, d.varint()).UTC()
	case 'u':
		v = uint64(d.varint())
	}
	return v, rest
}

func (d *oldDecoder) fields(layout string) (any, string) {
	fields := map[string]any{}
	for layout[0] != ')' && layout[0] != '}' {
		name, rest, _ := strings.Cut(strings.TrimPrefix(layout, " "), ":")
		var v any
		if v, layout = d.value(rest); v != nil && !reflect.ValueOf(v).IsZero() {
			fields[name] = v
		}
	}
	if len(fields) == 0 {
		return nil, layout[1:]
	}
	return fields, layout[1:]
}

// list decodes n elements.
func (d *oldDecoder) list(n int, layout string) (any, string) {
	_, rest := new(oldDecoder).value(layout)
	if n == 0 || len(*d) == 0 {
		return nil, rest
	}
	list := make([]any, n)
	for i := range list {
		list[i], _ = d.value(layout)
	}
	return list, rest
}

func (d *oldDecoder) varint() int64 {
	n, size := binary.Varint(*d)
	*d = (*d)[size:]
	return n
}

// record reads bytes that are preceded by their number.
func (d *oldDecoder) record() oldDecoder {
	n := d.varint()
	b := (*d)[:n]
	*d = (*d)[n:]
	return b
}

func (d *oldDecoder) fixed() uint64 {
	n := binary.LittleEndian.Uint64(*d)
	*d = (*d)[8:]
	return n
}
