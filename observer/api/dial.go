package api

import (
	"errors"
	"fmt"
	"net"

	"sm/observer/socket"
)

// ErrNoObserver means that no observer of this user answers on any of the sockets.
var ErrNoObserver = socket.ErrNoObserver

// ForeignError means that a process of another user serves the socket.
type ForeignError = socket.ForeignError

// Dial is [socket.Dial] for package net/http.
func Dial(sockets []string) (net.Conn, error) {
	f, err := socket.Dial(sockets)
	if err != nil {
		return nil, err
	}
	conn, err := net.FileConn(f) // a copy
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("connect to the observer: %w", err)
	}
	return conn, nil
}
