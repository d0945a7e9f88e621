package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/auth"
)

// keyFilePeriod is between two looks at the file: keys that it lacks are believed for
// that long.
const keyFilePeriod = time.Second

// keyFile is a JWKS file, which the shop replaces when it changes keys. It is read at
// every look, not only when its time of change moved: a file system may tell times in
// whole seconds, and the file is small.
type keyFile struct {
	path string
	log  *slog.Logger
	use  func([]auth.PublicKey)

	last    string // what the last look found: the content's digest, or what is wrong
	reloads *prometheus.CounterVec
	keys    prometheus.Gauge
	broken  prometheus.Gauge
}

// openKeyFile reads the file, which must be good: a process does not start without keys.
func openKeyFile(path string, log *slog.Logger) (*keyFile, []auth.PublicKey, error) {
	f := &keyFile{path: path, log: log}
	content, err := f.read()
	if err != nil {
		return nil, nil, err
	}
	keys, err := auth.ParseJWKS(content)
	if err != nil {
		return nil, nil, err
	}
	f.last = digestOf(content)
	f.reloads = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_jwks_reloads_total", Help: "Changes of the JWKS file, by whether its keys were taken.",
	}, []string{"result"})
	for _, result := range []string{reloadTaken, reloadRefused} {
		f.reloads.WithLabelValues(result)
	}
	f.keys = prometheus.NewGauge(prometheus.GaugeOpts{Name: "sluice_jwks_keys", Help: "Public keys that tokens are verified with."})
	f.broken = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "sluice_jwks_broken", Help: "1 while the JWKS file cannot be used and the keys are those it had before.",
	})
	f.keys.Set(float64(len(keys)))
	return f, keys, nil
}

// Results of a change of the file.
const (
	reloadTaken   = "taken"
	reloadRefused = "refused"
)

func (f *keyFile) register(reg prometheus.Registerer) { reg.MustRegister(f.reloads, f.keys, f.broken) }

// follow takes over what the file becomes, until ctx ends.
func (f *keyFile) follow(ctx context.Context) {
	ticker := time.NewTicker(keyFilePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.look()
		}
	}
}

// look uses the file's keys if it changed and is good. One that is not, is being
// written or is gone leaves the keys as they are, and is told once.
func (f *keyFile) look() {
	content, err := f.read()
	found := digestOf(content)
	if err != nil {
		found = err.Error()
	}
	if found == f.last {
		return
	}
	f.last = found
	var keys []auth.PublicKey
	if err == nil {
		keys, err = auth.ParseJWKS(content)
	}
	if err != nil {
		f.reloads.WithLabelValues(reloadRefused).Inc()
		f.broken.Set(1)
		f.log.Error("jwks file not usable, tokens are verified with its earlier keys", "file", f.path, "error", err)
		return
	}
	f.use(keys)
	f.reloads.WithLabelValues(reloadTaken).Inc()
	f.broken.Set(0)
	f.keys.Set(float64(len(keys)))
	f.log.Info("jwks file taken", "file", f.path, "keys", len(keys))
}

// read reads the file, if it is one of a size that can be good.
func (f *keyFile) read() ([]byte, error) {
	if info, err := os.Stat(f.path); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("cannot read public keys: not a regular file") // opening a pipe would wait for its writer
	}
	file, err := os.Open(f.path)
	if err != nil {
		return nil, fmt.Errorf("cannot read public keys: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, auth.MaxJWKSBytes+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read public keys: %w", err)
	}
	if len(content) == 0 {
		return nil, errors.New("cannot read public keys: the file is empty")
	}
	return content, nil
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return string(sum[:])
}
