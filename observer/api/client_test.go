package api

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// TestAskFails tests that an error names the observer, unless its text does already.
func TestAskFails(t *testing.T) {
	dir := t.TempDir()
	_, err := NewClient([]string{filepath.Join(dir, "none")}).Handoffs(t.Context())
	if !errors.Is(err, ErrNoObserver) || err.Error() != ErrNoObserver.Error() {
		t.Errorf("without an observer: %v", err)
	}
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() { // until the listener is closed
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	defer listener.Close()
	_, err = NewClient([]string{socket}).Handoffs(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "ask the observer: ") {
		t.Errorf("an observer that ends: %v", err)
	}
}
