package access

import (
	"log/slog"
	"net/http"
	"time"
)

// The timeouts of a server.
const (
	headerTimeout  = 2 * time.Second
	requestTimeout = 5 * time.Second
	answerTimeout  = 10 * time.Second
	idleTimeout    = time.Minute
)

// NewServer returns a server for a handler of NewHandlers, which removes the write
// deadline for routes that stream.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    8 << 10,
		Protocols:         protocols,
		ConnContext:       withPeer,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		// Else net/http answers OPTIONS * by itself, past the gate.
		DisableGeneralOptionsHandler: true,
	}
}
