package follow

import (
	"bytes"
	"runtime"

	"github.com/nxadm/tail/util"
	"github.com/nxadm/tail/watch"
)

// guardTail keeps nxadm/tail from ending the process: when a stat fails or there
// is no inotify, it writes to this logger and then calls os.Exit. A writer that
// ends the goroutine comes first. The tail is deaf after that, and the checks of
// the loop do its work.
func guardTail() { util.LOGGER.SetOutput(endGoroutine{}) }

type endGoroutine struct{}

func (endGoroutine) Write(message []byte) (int, error) {
	if path, ok := unwatched(message); ok {
		// This goroutine receives the events of the file. Without it the tracker would
		// block at the next one, and no tail of the process would get events.
		_ = watch.RemoveWatch(path) // it fails when the file is gone, which is as good
	}
	runtime.Goexit()
	return 0, nil
}

// unwatched reads the path in the words with which a tail's inotify goroutine gives
// up: "FATAL -- Failed to stat file PATH: stat PATH: permission denied", a newline,
// and the stack.
func unwatched(message []byte) (path string, ok bool) {
	if !bytes.Contains(message, []byte("(*InotifyFileWatcher).ChangeEvents")) {
		return "", false
	}
	_, rest, _ := bytes.Cut(message, []byte("Failed to stat file "))
	middle := []byte(": stat ")
	for i := range rest {
		if !bytes.HasPrefix(rest[i:], middle) {
			continue
		}
		name := rest[:i]
		after := rest[i+len(middle):]
		if bytes.HasPrefix(after, name) && bytes.HasPrefix(after[len(name):], []byte(": ")) {
			return string(name), true
		}
	}
	return "", false
}
