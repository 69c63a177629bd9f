package transcript

// UnknownKind is the part of a record whose name is unknown to the reader.
type UnknownKind uint8

// The kinds: the type of a record, the type of its content, and a member of a
// usage object.
const (
	UnknownRecord UnknownKind = iota
	UnknownSubtype
	UnknownUsage
	UnknownKinds // the number of kinds
)

// String returns the kind as metrics and logs write it.
func (k UnknownKind) String() string {
	return [UnknownKinds]string{"record", "subtype", "usage"}[k]
}

// UnknownName is a name that is unknown to a reader, and how often it occurred.
type UnknownName struct {
	Kind  UnknownKind
	Name  string // at most 64 bytes
	Count uint64
}

// Limits of [Unknowns], because a transcript may contain any number of names.
const (
	maxUnknowns    = 32
	maxUnknownName = 64 // in bytes
)

// Unknowns counts names that are unknown to a reader. After 32 names, all
// others, of any kind, count for the last one.
type Unknowns []UnknownName

// Add counts a name, unless it is empty.
func (u *Unknowns) Add(kind UnknownKind, name []byte) {
	if len(name) == 0 {
		return
	}
	name = name[:min(len(name), maxUnknownName)]
	for i := range *u {
		if x := &(*u)[i]; x.Kind == kind && x.Name == string(name) {
			x.Count++
			return
		}
	}
	if n := len(*u); n == maxUnknowns {
		(*u)[n-1].Count++
		return
	}
	*u = append(*u, UnknownName{Kind: kind, Name: string(name), Count: 1})
}
