package jetqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// Settings are what a NATS server says about itself and the streams.
type Settings struct {
	Version string
	Known   int // servers that the URL names
	Streams []StreamSettings
}

// StreamSettings are those of one stream, the catalogue's included.
type StreamSettings struct {
	Name     string
	File     bool // kept in files
	Replicas int
	InStep   int      // replicas that have everything, the leader included
	Servers  []string // that keep it; none when the server is not in a cluster
}

// Settings reads the server's settings. A stream that is not there is left out.
func (q *Queue) Settings(ctx context.Context) (Settings, error) {
	s := Settings{Version: q.conn.ConnectedServerVersion(), Known: q.known}
	for _, name := range []string{StreamName, PaymentsStream, bucketStream} {
		stream, err := q.js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return Settings{}, fmt.Errorf("cannot read settings of stream %s: %w", name, err)
		}
		s.Streams = append(s.Streams, streamSettings(stream.CachedInfo()))
	}
	return s, nil
}

func streamSettings(info *jetstream.StreamInfo) StreamSettings {
	s := StreamSettings{
		Name: info.Config.Name, File: info.Config.Storage == jetstream.FileStorage, Replicas: max(info.Config.Replicas, 1), InStep: 1,
	}
	if info.Cluster == nil || info.Cluster.Name == "" {
		return s
	}
	s.Servers = []string{info.Cluster.Leader}
	if info.Cluster.Leader == "" { // who answers cannot say who has everything
		s.Servers, s.InStep = nil, 0
	}
	for _, peer := range info.Cluster.Replicas {
		s.Servers = append(s.Servers, peer.Name)
		if peer.Current && !peer.Offline {
			s.InStep++
		}
	}
	slices.Sort(s.Servers)
	return s
}
