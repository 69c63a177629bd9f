package access

import (
	"log/slog"
	"net/http"
	"time"
)

// NewServer returns a server for a handler of NewHandlers, which removes the write
// deadline for routes that stream.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 2 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       2 * time.Minute, // scrapes and webhooks may be a minute apart
		MaxHeaderBytes:    8 << 10,
		Protocols:         protocols,
		ConnContext:       withPeer,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		// Otherwise net/http would answer OPTIONS * without the access checks.
		DisableGeneralOptionsHandler: true,
	}
}
