package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/coreos/go-systemd/v22/activation"

	"sm/handoff/files"
)

// Passed has listening sockets that a service manager opened before the
// observer started and keeps open while the observer restarts: connections wait
// meanwhile and are not refused. The observer uses the sockets with a
// configured address.
type Passed struct {
	listeners []net.Listener
}

// PassedBySystemd returns the sockets that systemd opened for this process: sd_listen_fds(3).
func PassedBySystemd() (p Passed, err error) {
	listeners, err := activation.Listeners()
	if err != nil {
		return p, fmt.Errorf("sockets of the service manager: %w", err)
	}
	// A descriptor that is not a listening socket is nil.
	isNil := func(l net.Listener) bool { return l == nil }
	return Passed{slices.DeleteFunc(listeners, isNil)}, nil
}

// Listen returns the passed socket of an address, or opens one.
func (p *Passed) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	if l := p.take(network, address); l != nil {
		return l, nil
	}
	return new(net.ListenConfig).Listen(ctx, network, address)
}

// take returns the socket of an address once, or nil.
func (p *Passed) take(network, address string) net.Listener {
	for i, l := range p.listeners {
		if l.Addr().Network() == network && l.Addr().String() == address {
			p.listeners = slices.Delete(p.listeners, i, i+1)
			return l
		}
	}
	return nil
}

// CloseRest closes and logs unused listeners: their addresses are in the socket
// unit, but not in the configuration.
func (p *Passed) CloseRest(log *slog.Logger) error {
	var errs error
	for _, l := range p.listeners {
		log.Warn(
			"the service manager opened an address that is not configured: closed; run sm service install again",
			"address", l.Addr().String(),
		)
		errs = errors.Join(errs, l.Close())
	}
	p.listeners = nil
	return errs
}

// checkPassed checks a passed socket by the same rules as our own.
func checkPassed(path string) error {
	if err := files.PrivateDir(filepath.Dir(path), dirAdvice); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !files.Own(info):
		return errors.New("the socket that was passed belongs to another user")
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf(
			"the socket that was passed is open to others (%v): set SocketMode=0600 in its unit",
			info.Mode().Perm(),
		)
	}
	return nil
}
