// Package profiles takes CPU profiles of running processes, keeps them as files for
// go tool pprof, and says in words where the time went.
package profiles

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"time"
)

const answerTimeout = 15 * time.Second // beyond the time that is profiled

// Take profiles the process behind a listener for health and metrics for so many seconds,
// and writes what comes to path. The token is its admin token.
func Take(ctx context.Context, opsURL, token string, seconds int, path string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+answerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, opsURL+"/debug/pprof/profile?seconds="+strconv.Itoa(seconds), nil)
	if err != nil {
		return fmt.Errorf("cannot take profile: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("cannot take profile: %w", err)
	}
	defer resp.Body.Close() // it is only read
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("cannot take profile: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("cannot take profile: %s answers %s: %s", opsURL, resp.Status, content)
	}
	return write(path, content)
}

// Self profiles this process until stop, which writes what was found to path.
func Self(path string) (stop func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("cannot write profile: %w", err)
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("cannot write profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		file.Close() // nothing was written
		return nil, fmt.Errorf("cannot take profile: %w", err)
	}
	return func() error {
		pprof.StopCPUProfile()
		if err := file.Close(); err != nil {
			return fmt.Errorf("cannot write profile: %w", err)
		}
		return nil
	}, nil
}

func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("cannot write profile: %w", err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("cannot write profile: %w", err)
	}
	return nil
}
