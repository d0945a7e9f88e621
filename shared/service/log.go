package service

import (
	"io"
	"log/slog"
)

// NewLogger logs JSON lines to w, each with the service's name. level is debug,
// info, warn or error.
func NewLogger(w io.Writer, service, level string) (*slog.Logger, error) {
	lowest, known := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}[level]
	if !known {
		return nil, UsageErrorf("-log-level (%s) must be debug, info, warn or error, is %q", Variable("log-level"), level)
	}
	handler := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: lowest})
	return slog.New(handler).With("service", service), nil
}
