// Package follow finds transcripts, reads them, and follows those that grow. It
// reports every file as transcript.Change values and stores nothing.
//
// The transcript.Format of each [Root] defines names, folders and lines of a
// client's transcripts; roots of several clients are followed side by side.
//
// A file that is not written is parked: a cursor in memory, without goroutine and
// descriptor. A recently written file is live: a few goroutines, the lookers, read what
// is new in it when inotify or a stat each second shows that it was written. Some live
// files have a tail of nxadm/tail besides, which delivers lines as they are written; what
// a tail misses, a look finds. When a line of megabytes comes, the tail is ended, as it
// takes several times the memory. Catch-up, waking and healing use one read loop, which
// reads a file from its beginning, because the state that recognizes repeated records is
// not kept for parked files.
//
// The last change of a file has the totals of exactly the complete lines before its
// cursor, and the context after one more line that only lacks its newline. A line is
// reported as new at most once in a run. Changes of one file are sent in order.
// After any change of a file the report is right within two seconds of what inotify
// or a stat shows, and else with the next search of all folders, as for a parked
// file that is written through a mapping or on another machine.
//
// Copies of files are reported like others. Only regular files are opened, and none
// is written.
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
	// Learnt are more roots, which clients have named, see Elsewhere: nothing in them is
	// followed but regular files of this user, and no link to a folder. Learn hands over
	// more of them while Run runs; nil for none.
	Learnt []Root
	Learn  <-chan Root
	// ActiveFor is how long after its last growth a file stays live: 10 minutes.
	ActiveFor time.Duration
	// Check is how often live files are checked by stat, and folders where inotify
	// does not serve: 1 second.
	Check time.Duration
	// Rescan is how often all folders are searched where inotify serves: 30 seconds. It is
	// for what inotify does not report, as on network file systems. Where a search takes
	// long it comes more seldom, so that it takes half a thousandth of the time, but at
	// least every 5 minutes. Lost events have all folders searched at once all the same.
	Rescan time.Duration
	// Live bounds the live files, 1000. Beyond, the longest quiet is parked for one that
	// has been written since; where all are at work, the next one stays parked itself and
	// is read from its beginning whenever it grows.
	Live int
	// Tails limits the live files with a tail and a descriptor, by default 64. The
	// others are read when inotify or a check shows that they were written.
	Tails int
	// Since, when set, has Once leave out files that were last written before.
	Since time.Time
	// Workers read files side by side: as many as there are processors.
	Workers int
	// NoInotify makes Run poll, as it does by itself when inotify is missing.
	NoInotify bool
	// Bills adds to changes what boundaries cost and what was done, where a client's fold can.
	Bills bool
	// Entries has whole changes list all records that mean something, however old.
	Entries bool
	// Records, when set, is asked by Once at the beginning of each file, and what it
	// returns is given that file's records that mean something, and those of no meaning
	// that have a Text, in their order. An entry holds during the call. Changes then list
	// neither messages nor entries. Workers ask side by side, and once more for a file
	// that has to be read again.
	Records func(path string) func(*transcript.Entry)
	// Logger must be set.
	Logger *slog.Logger
	// Stats, when set, is kept up to date.
	Stats *Stats
	// Clients, when set, receives the entries of the clients' registries whenever they
	// have changed. A slow receiver gets the newest only.
	Clients chan<- []transcript.Client
	// Alive reports whether a process runs and began at that time; an empty start
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

// state is what happens with a file right now.
type state uint8

const (
	parked state = iota
	busy         // a worker reads it
	live         // a tail follows it
)

// file is one transcript. Only the follower's loop touches it, but for the cursor
// while a worker or a tail has it. There are as many as transcripts: what only a live one
// needs is its tailer's.
type file struct {
	cursor transcript.Cursor
	id     transcript.File
	moved  string // the path before, while that has not been reported
	tail   *tailer
	stamp  stamp // as seen by the last look that found news
	round  int32 // of the search of all folders in which it was last found
	state  state
	again  bool // something happened while it was busy
	known  bool // the cursor was reached in this run or given at its start
	format *transcript.Format
	alone  bool // asked for by name
	learnt bool // it lies in a root that a client has named
}

// lookAgain has the worker or the tail that reads a file look at it once more.
func (fl *file) lookAgain() {
	switch fl.state {
	case busy:
		fl.again = true
	case live:
		fl.tail.poke()
	}
}

// follower is the state of Run's loop: the work that waits, and the files that are live.
type follower struct {
	Options
	index   *index
	reader  *fileReader
	clients registries
	lookers *lookers
	queue   []*file // to be read, newest last
	jobs    chan *file
	results chan result
	pending int // jobs not yet finished that belong to the first catch-up
	caught  bool
	live    map[*file]struct{}
	failing map[*file]error // those that cannot be read, with the failure that has been logged
	lastAll time.Time
	took    time.Duration // by the last search of all folders but the first
}

// Run finds and follows until ctx ends, and returns after all its goroutines have
// ended. from are the cursors of an earlier run: what they cover is not reported
// again, unless the file has changed before them. When all that existed at the start
// has been reported, and the clients that ran then, it sends a Change with CaughtUp.
// Run never closes out, and waits for its receivers.
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

// loop owns everything; it never waits for anyone but all at once.
func (f *follower) loop(ctx context.Context) {
	f.searchAll(true)
	f.clients.readAll()
	tick := time.NewTicker(f.Check)
	defer tick.Stop()
	for {
		if !f.caught && f.pending == 0 && !f.clients.news {
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
		if f.clients.news {
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
			f.clients.news = false
		case root := <-f.Learn:
			f.learn(root)
		case <-tick.C:
			f.sweep(false)
		}
	}
}

// enqueue gives files to the workers, unless one has it; nil is none.
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

// done takes a file back from a worker.
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
		fl.known = r.err == nil // else it was reported as gone
	}
	if r.gone {
		delete(f.failing, fl)
		x := f.index
		if x.files[fl.cursor.Path] == fl { // it may have come back meanwhile
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
		f.followLive(fl, r) // which first looks for what has happened meanwhile
	case fl.again:
		f.enqueue(fl)
	}
}

// failed logs a failure once. The file is tried again each second, or once it has
// changed if its content is at fault.
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

// Stats shows how the following goes; it may be read at any time.
type Stats struct {
	// Files and Bytes are what the first search has found to read; FilesDone and
	// BytesDone what has been read, wakings and healings included.
	Files, Bytes, FilesDone, BytesDone atomic.Int64
	// Parked, Live and Failed count the files known, Lag the bytes that live files
	// hold beyond what has been read, as of the last check.
	Parked, Live, Failed, Lag atomic.Int64
}

// expect adds what is about to be read to the totals that progress is shown by.
func (s *Stats) expect(files []*file) {
	for _, fl := range files {
		s.Files.Add(1)
		s.Bytes.Add(fl.stamp.size)
	}
}

// publish counts the files.
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
