package hook

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// ParseTmux parses the variable TMUX of a process in a pane: the path of the
// server's socket and the server's pid, 0 if unknown. Without a socket there is
// no tmux.
func ParseTmux(variable string) (socket string, server int) {
	// The form is socket,server,session; the path may contain commas.
	parts := strings.Split(variable, ",")
	n := len(parts) - 2
	if n < 1 {
		return "", 0
	}
	if _, err := strconv.Atoi(parts[n+1]); err != nil {
		return "", 0
	}
	socket = strings.Join(parts[:n], ",")
	if len(socket) > maxPath || !strings.HasPrefix(socket, "/") {
		return "", 0
	}
	server, err := strconv.Atoi(parts[n])
	if err != nil || server < 2 {
		server = 0
	}
	return socket, server
}

// IsPane reports whether s is a pane's id, such as %12.
func IsPane(s string) bool {
	digits, ok := strings.CutPrefix(s, "%")
	return ok && len(digits) > 0 && len(digits) <= 9 &&
		strings.Trim(digits, "0123456789") == ""
}

// TmuxAgent returns the id of an agent that has no other, derived from its pane
// and server. It fits into file names and addresses. It includes the server's
// pid, because a new server numbers its panes from 0 again. It is empty without
// socket or pane.
func TmuxAgent(socket string, server int, pane string) string {
	if socket == "" || !IsPane(pane) {
		return ""
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s,%d", socket, server) // never fails
	return fmt.Sprintf("tmux-%s-%016x", pane[1:], h.Sum64())
}

// IsTmuxAgent reports whether an id has the form of TmuxAgent, which ends with
// 16 digits. Other names may begin with tmux- too.
func IsTmuxAgent(id string) bool {
	return strings.HasPrefix(id, "tmux-") && strings.LastIndexByte(id, '-') == len(id)-17
}
