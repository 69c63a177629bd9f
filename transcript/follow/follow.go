// Package follow finds transcripts, reads them, and follows those that grow. It
// reports every file as transcript.Change values and stores nothing.
//
// The transcript.Format of each [Root] defines names, folders and lines of a
// client's transcripts; roots of several clients are followed concurrently.
//
// A file that is not being written is parked: it has a cursor in memory, but
// neither goroutine nor descriptor. A recently written file is live: a few
// goroutines, the lookers, read its new lines when inotify or a stat each
// second shows that it was written. Some live files also have a tail of
// nxadm/tail, which delivers lines as they are written; a look finds the lines
// that a tail misses. A line of megabytes ends the tail, because a tail takes
// several times the memory of the line. Catch-up, waking and healing use one
// read loop, which reads a file from its beginning, because the state that
// recognizes repeated records is not kept for parked files.
//
// The last change of a file has the totals of exactly the complete lines before
// its cursor, and the context after one more line that only lacks its newline.
// A line is reported as new at most once in a run. Changes of one file are sent
// in order. After any change of a file the report is correct within two seconds
// of the inotify event or stat that shows the change. Without either, as for a
// parked file that is written through a mapping or on another machine, it is
// correct after the next search of all folders.
//
// Copies of files are reported like other files. Only regular files are opened,
// and no file is written.
package follow

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nxadm/tail/util"

	"sm/transcript"
)

// Options are the settings of Run; the zero values of durations and counts mean
// the defaults given.
type Options struct {
	// Roots are the folders to search, of one format or of several.
	Roots []Root
	// Learnt are further roots, reported by clients, see Elsewhere. Only
	// regular files of this user are followed in them, and no links to folders.
	// Learn delivers further ones while Run runs; nil for none.
	Learnt []Root
	Learn  <-chan Root
	// ActiveFor is how long after its last growth a file stays live: 10 minutes.
	ActiveFor time.Duration
	// Check is the interval of stat calls for live files, and of searches of
	// folders that inotify does not watch: 1 second.
	Check time.Duration
	// Rescan is the interval of searches of all folders if inotify works: 30
	// seconds. They find changes that inotify does not report, as on network
	// file systems. If a search takes long, the interval is longer, so that
	// searches take a two-thousandth of the time, but at most 5 minutes. Lost
	// events cause a search of all folders at once.
	Rescan time.Duration
	// Live limits the live files, 1000. At the limit, the file that was written
	// longest ago is parked for a file written since then. If all are being
	// written, the new file stays parked and is read from its beginning
	// whenever it grows.
	Live int
	// Tails limits the live files with a tail and a descriptor, by default 64.
	// The others are read when inotify or a check shows that they were written.
	Tails int
	// Since, if set, makes Once skip files that were last written before.
	Since time.Time
	// Workers is the number of files read concurrently: by default the number
	// of processors.
	Workers int
	// NoInotify makes Run poll, as it does without inotify.
	NoInotify bool
	// Bills adds to changes the cost of boundaries and the work done, if the
	// client's fold supports that.
	Bills bool
	// Entries adds all entries with a meaning to whole changes, however old
	// they are.
	Entries bool
	// Records, if set, is called by Once at the beginning of each file. The
	// function that it returns gets that file's records with a meaning, and
	// those without one that have a Text, in their order. An entry is valid
	// during the call. Changes then contain neither messages nor entries.
	// Workers call Records concurrently, and again for a file that must be read
	// again.
	Records func(path string) func(*transcript.Entry)
	// Logger must be set.
	Logger *slog.Logger
	// Stats, if set, is kept up to date.
	Stats *Stats
	// Clients, if set, receives the entries of the clients' registries whenever
	// they have changed. A slow receiver gets only the newest.
	Clients chan<- []transcript.Client
	// Alive reports whether a process with that start time runs; an empty start
	// matches any. If nil, entries are valid as long as they exist.
	Alive func(pid int, start string) bool
}

func (o *Options) defaults() {
	o.ActiveFor = cmp.Or(o.ActiveFor, 10*time.Minute)
	o.Check = cmp.Or(o.Check, time.Second)
	o.Rescan = cmp.Or(o.Rescan, 30*time.Second)
	o.Live = cmp.Or(o.Live, 1000)
	o.Tails = cmp.Or(o.Tails, 64)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	if o.Stats == nil {
		o.Stats = &Stats{}
	}
}

// state is the present use of a file.
type state uint8

const (
	parked state = iota
	busy         // a worker reads it
	live         // a tail follows it
)

// file is one transcript. Only the follower's loop accesses it, except for the
// cursor while a worker or a tail has it. There is one for each transcript, so
// the fields needed only by live files are in tailer.
type file struct {
	cursor transcript.Cursor
	id     transcript.File
	moved  string // the previous path, until the move has been reported
	tail   *tailer
	stamp  stamp // of the last look that found a change
	round  int32 // number of the last search of all folders that found it
	state  state
	again  bool // an event arrived while it was busy
	known  bool // the cursor was reached in this run or given at its start
	format *transcript.Format
	alone  bool // named by the user
	learnt bool // it is in a root that a client has reported
}

// lookAgain makes the worker or the tail that reads a file check it once more.
func (fl *file) lookAgain() {
	switch fl.state {
	case busy:
		fl.again = true
	case live:
		fl.tail.poke()
	}
}

// follower is the state of Run's loop: the waiting work, and the live files.
type follower struct {
	Options
	index   *index
	reader  *fileReader
	clients registries
	lookers *lookers
	queue   []*file // files to be read, newest last
	jobs    chan *file
	results chan result
	pending int // unfinished jobs of the first catch-up
	caught  bool
	live    map[*file]struct{}
	failing map[*file]error // files that cannot be read, with the logged error
	lastAll time.Time
	took    time.Duration // duration of the last search of all folders except the first
}

// Run finds and follows transcripts until ctx ends, and returns after all its
// goroutines have ended. from are the cursors of an earlier run: the lines
// before them are not reported again, unless the file has changed before its
// cursor. When all files that existed at the start, and the clients that ran
// then, have been reported, Run sends a Change with CaughtUp. It never closes
// out, and waits for its receivers.
func Run(
	ctx context.Context,
	o Options,
	from []transcript.Cursor,
	out chan<- transcript.Change,
) {
	o.defaults()
	ctx, cancel := context.WithCancel(ctx)
	index := newIndex(newWatcher(o.NoInotify, o.Logger), o.Logger)
	for _, root := range o.Roots {
		index.roots.add(root, false)
	}
	for _, root := range o.Learnt {
		index.roots.add(root, true)
	}
	f := &follower{
		Options: o,
		index:   index,
		reader:  &fileReader{Options: o, out: out},
		clients: registries{
			entries: map[string]*entry{},
			indexes: map[string]nameIndex{},
			dirs:    map[string]*transcript.Registry{},
			roots:   &index.roots,
			watch:   index.watch,
			alive:   o.Alive,
			to:      o.Clients,
		},
		jobs:    make(chan *file),
		results: make(chan result),
		live:    map[*file]struct{}{},
		failing: map[*file]error{},
		lookers: &lookers{
			due:   make(chan *tailer, o.Live),
			exits: make(chan *tailer),
			slots: make(chan struct{}, o.Tails),
		},
	}
	f.lookers.eventsLost.Store(index.watch.notify == nil)
	util.LOGGER.SetOutput(f.lookers)
	var workers sync.WaitGroup
	for range o.Workers {
		workers.Go(func() { f.reader.work(ctx, f.jobs, f.results) })
	}
	for range max(2, o.Workers) { // a long line is to delay no other file
		workers.Go(func() { f.lookers.work(ctx) })
	}
	index.restore(from)
	f.loop(ctx)
	close(f.jobs)
	cancel()
	workers.Wait()
	f.lookers.tails.Wait()
	index.watch.close()
}

// loop owns the follower. It blocks only in one select over all events.
func (f *follower) loop(ctx context.Context) {
	f.searchAll(true)
	f.clients.readAll()
	tick := time.NewTicker(f.Check)
	defer tick.Stop()
	for {
		if !f.caught && f.pending == 0 && !f.clients.unsent {
			f.caught = true
			f.publish()
			f.reader.send(ctx, transcript.Change{CaughtUp: true})
		}
		var jobs chan *file
		var next *file
		if n := len(f.queue); n > 0 {
			jobs = f.jobs
			next = f.queue[n-1]
		}
		var clients chan<- []transcript.Client
		if f.clients.unsent {
			clients = f.clients.to
		}
		select {
		case <-ctx.Done():
			return
		case jobs <- next:
			f.queue = f.queue[:len(f.queue)-1]
		case r := <-f.results:
			f.done(r)
		case t := <-f.lookers.exits:
			f.ended(t)
		case ev := <-f.index.watch.events:
			f.event(ev)
		case err := <-f.index.watch.errors:
			f.Logger.Debug("inotify lost events, searching all folders", "err", err)
			f.sweep(true)
		case clients <- f.clients.clients:
			f.clients.unsent = false
		case root := <-f.Learn:
			f.learn(root)
		case <-tick.C:
			f.sweep(false)
		}
	}
}

// enqueue passes files to the workers, unless they already have them. It
// ignores nil.
func (f *follower) enqueue(files ...*file) {
	for _, fl := range files {
		switch {
		case fl == nil:
		case fl.state != parked:
			fl.lookAgain()
		case !f.damaged(fl):
			fl.state = busy
			fl.again = false
			if !f.caught {
				f.pending++
			}
			f.queue = append(f.queue, fl)
		}
	}
}

// damaged reports whether a file could not be unpacked and has not changed since.
func (f *follower) damaged(fl *file) bool {
	e, failed := errors.AsType[contentError](f.failing[fl])
	if !failed {
		return false
	}
	is, err := lstat(fl.cursor.Path)
	return err == nil && is.stamp == e.of
}

// done handles the result of a worker.
func (f *follower) done(r result) {
	fl := r.file
	fl.state = parked
	if !f.caught {
		f.pending--
	}
	f.failed(fl, r.err)
	if fl.moved != "" {
		delete(f.index.leaving, fl.moved)
		fl.moved = ""
		fl.known = r.err == nil // otherwise it was reported as gone
	}
	if r.gone {
		delete(f.failing, fl)
		x := f.index
		if x.files[fl.cursor.Path] == fl { // it may have been created again
			delete(x.files, fl.cursor.Path)
		}
		if x.inodes[fl.inode()] == fl {
			delete(x.inodes, fl.inode())
		}
		x.again[fl.cursor.Path] = true
		return
	}
	if r.err != nil {
		return
	}
	if f.index.inodes[fl.inode()] == fl {
		delete(f.index.inodes, fl.inode())
	}
	fl.cursor = r.cursor
	fl.known = true
	f.index.inodes[fl.inode()] = fl
	switch {
	case r.live != nil && f.makeRoom(r.written):
		f.followLive(fl, r) // first checks for changes since the reading
	case fl.again:
		f.enqueue(fl)
	}
}

// failed logs a failure once. The file is read again each second or, if its
// content is invalid, after its next change.
func (f *follower) failed(fl *file, err error) {
	if err == nil {
		delete(f.failing, fl)
		return
	}
	last := f.failing[fl]
	f.failing[fl] = err
	if last == nil || err.Error() != last.Error() {
		f.Logger.Warn(
			"cannot read a transcript; trying again each second, or when it changes",
			"session", fl.id.Name,
			"err", reason(err),
		)
	}
}

// Stats shows the progress; it may be read at any time.
type Stats struct {
	// Files and Bytes are the totals that the first search has found to read;
	// FilesDone and BytesDone are the totals read, including wakings and
	// healings.
	Files, Bytes, FilesDone, BytesDone atomic.Int64
	// Parked, Live and Failed count the known files. Lag is the number of
	// unread bytes of live files as of the last check.
	Parked, Live, Failed, Lag atomic.Int64
}

// expect adds files that will be read to the totals for the progress.
func (s *Stats) expect(files []*file) {
	for _, fl := range files {
		s.Files.Add(1)
		s.Bytes.Add(fl.stamp.size)
	}
}

// publish updates Stats.
func (f *follower) publish() {
	var lag int64
	for fl := range f.live {
		lag += fl.tail.unread
	}
	s := f.Stats
	s.Parked.Store(int64(len(f.index.files) - len(f.live) - len(f.failing)))
	s.Live.Store(int64(len(f.live)))
	s.Failed.Store(int64(len(f.failing)))
	s.Lag.Store(lag)
}
