package hooks

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"

	"sm/cmd/internal/places"
	"sm/observer/socket"
)

// Sockets returns the sockets to try, the best first. It does not load the
// configuration, which takes too long: `sm install` writes settings other than
// the defaults into the arguments.
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
	// An error means that there is no observer.
	paths, _ := env.SocketPaths(absolute(socket), absolute(state))
	return paths
}

// Post posts a body to the first observer that listens. If wait is false it
// returns at once, and the kernel keeps the body until the observer reads it.
// If wait is true it returns the answer, which may be empty, and whether an
// observer has answered. It writes HTTP by itself: one write and one read,
// without the connection pool of net/http and its goroutines.
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
	// A deadline or a signal ends the wait for the observer.
	stop := context.AfterFunc(ctx, func() { socket.HangUp(conn) })
	request := fmt.Appendf(nil, "POST /hooks/claude HTTP/1.0\r\nHost: localhost\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if _, err := conn.Write(request); err != nil || !wait {
		stop()
		return nil, false
	}
	answer, answered = readAnswer(conn)
	if !stop() || !answered { // the end of ctx may have cut the answer
		return nil, false
	}
	return bytes.TrimSpace(answer), true
}
