package follow

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Client is one entry of the client's registry of running processes,
// sessions/<pid>.json. The file is internal to the client: what is absent or odd
// in it is empty here.
type Client struct {
	PID       int
	SessionID string
	CWD       string
	Version   string
	Name      string
	Status    string // idle, busy, waiting, shell
	Waiting   string // what for, say "permission prompt"
	Tmux      string // "session:@window.%pane"
	ProcStart string // the process's start time, to know a reused pid
	Updated   time.Time
}

// clientBytes bounds a registry entry; real ones have some 600 bytes.
const clientBytes = 64 << 10

// stamp tells one state of a file from another.
type stamp struct{ modified, size int64 }

// registry remembers what the clients' registries said.
type registry struct {
	stamps map[string]stamp // by path, of what has been read
	byPath map[string]Client
	news   bool
	dirs   map[string]bool // the registries' folders
	stale  bool            // something has happened in them
}

// outbox gives the channel and value to send, a nil channel when there is no news.
func (r *registry) outbox(to chan<- []Client) (chan<- []Client, []Client) {
	if !r.news {
		return nil, nil
	}
	all := make([]Client, 0, len(r.byPath))
	for _, c := range r.byPath {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Client) int { return a.PID - b.PID })
	return to, all
}

// unwatchedClients reports whether a registry's folder is not watched: it may not
// be there yet.
func (f *follower) unwatchedClients() bool {
	for dir := range f.clients.dirs {
		if !f.watch.watched[dir] {
			return true
		}
	}
	return false
}

func (r *registry) sent() { r.news = false }

// readClients reads the registries' entries that have changed.
func (f *follower) readClients() {
	if f.Options.Clients == nil {
		return
	}
	r := &f.clients
	if r.stamps == nil {
		r.stamps, r.byPath, r.dirs = map[string]stamp{}, map[string]Client{}, map[string]bool{}
	}
	r.stale = false
	present := map[string]bool{}
	for root := range f.allRoots() {
		dir := filepath.Join(filepath.Dir(filepath.Clean(root)), "sessions")
		r.dirs[dir] = true
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			f.watch.add(dir)
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			pid, isEntry := strings.CutSuffix(e.Name(), ".json")
			if n, err := strconv.Atoi(pid); err != nil || n <= 1 || !isEntry || !e.Type().IsRegular() {
				continue
			}
			path := filepath.Join(dir, e.Name())
			info, err := e.Info()
			if err != nil || info.Size() > clientBytes {
				continue
			}
			present[path] = true
			now := stamp{info.ModTime().UnixNano(), info.Size()}
			if r.stamps[path] == now {
				continue
			}
			c, whole := readClient(path)
			if !whole {
				now = stamp{} // half written: look again
				r.stale = true
			}
			r.stamps[path] = now
			r.set(path, c)
		}
	}
	for path := range r.stamps {
		if !present[path] {
			delete(r.stamps, path)
			r.drop(path)
		}
	}
	r.bury()
}

func (r *registry) set(path string, c Client) {
	if !reflect.DeepEqual(r.byPath[path], c) {
		r.byPath[path] = c
		r.news = true
	}
}

func (r *registry) drop(path string) {
	if _, there := r.byPath[path]; there {
		delete(r.byPath, path)
		r.news = true
	}
}

// bury drops the entries of processes that are no more: a client that was killed
// leaves its file behind.
func (r *registry) bury() {
	for path, c := range r.byPath {
		if !lives(c.PID, c.ProcStart) {
			r.drop(path)
		}
	}
}

// readClient reads one entry; each field on its own, so that one that has changed
// its type leaves the others.
// whole is false when the file is not JSON, perhaps not yet.
func readClient(path string) (c Client, whole bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return c, false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(b, &fields) != nil {
		return c, false
	}
	get := func(key string, to any) { _ = json.Unmarshal(fields[key], to) } // absent or odd: empty
	get("pid", &c.PID)
	get("sessionId", &c.SessionID)
	get("cwd", &c.CWD)
	get("version", &c.Version)
	get("name", &c.Name)
	get("status", &c.Status)
	get("waitingFor", &c.Waiting)
	get("tmux", &c.Tmux)
	get("procStart", &c.ProcStart)
	var ms int64
	if get("statusUpdatedAt", &ms); ms > 0 {
		c.Updated = time.UnixMilli(ms).UTC()
	}
	return c, true
}
