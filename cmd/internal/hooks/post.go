package hooks

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"

	"sm/cmd/internal/places"
	"sm/observer/socket"
)

// Sockets are the sockets to try. It goes past the configuration, which takes
// too long to load: `sm install` writes into the arguments what differs from
// the default.
func Sockets(env places.Env, args []string) []string {
	socket := env.Get("SM_SOCKET")
	state := env.Get("SM_STATE")
	if value, ok := argument(args, "--socket"); ok {
		socket = value
	}
	absolute := func(path string) string {
		path, _ = env.ExpandHome(path)
		if !filepath.IsAbs(path) {
			return ""
		}
		return path
	}
	paths, _ := env.SocketPaths(absolute(socket), absolute(state)) // none: no observer
	return paths
}

// Post posts a body to the first observer that listens. Without wait the kernel
// keeps what is sent until the observer takes it. Where it waits it returns the
// answer, and whether an observer has answered: an answer may be empty. It is
// HTTP by hand: one write, one read, no pool of connections and none of its
// goroutines.
func Post(
	ctx context.Context,
	sockets []string,
	body []byte,
	wait bool,
) (answer []byte, answered bool) {
	conn, err := socket.Dial(sockets)
	if err != nil {
		return nil, false // there is no observer
	}
	defer conn.Close()
	// Neither the end of its time nor a signal waits for the observer.
	stop := context.AfterFunc(ctx, func() { socket.HangUp(conn) })
	request := fmt.Appendf(nil, "POST /hooks/claude HTTP/1.0\r\nHost: localhost\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if _, err := conn.Write(request); err != nil || !wait {
		stop()
		return nil, false
	}
	answer, answered = readAnswer(conn)
	if !stop() || !answered { // else the sender ended the answer, and not the deadline
		return nil, false
	}
	return bytes.TrimSpace(answer), true
}
