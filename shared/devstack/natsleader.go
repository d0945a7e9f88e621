package devstack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
)

// raftGroup is what a server's monitoring says of one group of servers.
type raftGroup struct {
	Leader   string `json:"leader"`
	Replicas []struct {
		Name    string `json:"name"`
		Current bool   `json:"current"`
		Offline bool   `json:"offline"`
	} `json:"replicas"`
}

// jsz is what the monitoring says of JetStream.
type jsz struct {
	Meta     raftGroup `json:"meta_cluster"`
	Accounts []struct {
		Streams []struct {
			Name    string    `json:"name"`
			Cluster raftGroup `json:"cluster"`
		} `json:"stream_detail"`
	} `json:"account_details"`
}

func (n *natsNode) name() string { return filepath.Base(n.dir) }

// jetStream asks a server's monitoring.
func (n *natsNode) jetStream(ctx context.Context, query string) (state jsz, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.monitor.Addr()+"/jsz"+query, nil)
	if err != nil {
		return state, err
	}
	request.Close = true // a server that is killed leaves no connection to trip over
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return state, fmt.Errorf("cannot ask %s for JetStream: %w", n.name(), err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&state); err != nil {
		return state, fmt.Errorf("cannot read what %s says of JetStream: %w", n.name(), err)
	}
	return state, nil
}

// inStep fails unless a server leads JetStream and says that all others are in step.
func (c *NATSCluster) inStep(ctx context.Context) error {
	var errs []error
	for _, n := range c.nodes {
		state, err := n.jetStream(ctx, "")
		if err != nil || state.Meta.Leader != n.name() {
			errs = append(errs, err)
			continue
		}
		return n.complete(state.Meta)
	}
	return errors.Join(append(errs, errors.New("no server leads JetStream"))...)
}

func (n *natsNode) complete(group raftGroup) error {
	current := 1
	for _, r := range group.Replicas {
		if r.Current && !r.Offline {
			current++
		}
	}
	if current < natsServers {
		return fmt.Errorf("%s leads, and %d of %d servers are in step", n.name(), current, natsServers)
	}
	return nil
}

// Leader returns the server that leads a stream, by its own word. It fails while none does.
func (c *NATSCluster) Leader(ctx context.Context, stream string) (*Server, error) {
	n, _, err := c.leads(ctx, stream)
	if err != nil {
		return nil, err
	}
	return n.Server, nil
}

// AwaitStream returns once a stream has a leader and every server is in step with it, or
// when ctx ends, at most in a minute.
func (c *NATSCluster) AwaitStream(ctx context.Context, stream string) error {
	return c.await(ctx, "in step", func(ctx context.Context) error {
		n, group, err := c.leads(ctx, stream)
		if err != nil {
			return err
		}
		return n.complete(group)
	})
}

func (c *NATSCluster) leads(ctx context.Context, stream string) (*natsNode, raftGroup, error) {
	var errs []error
	for _, n := range c.nodes {
		state, err := n.jetStream(ctx, "?accounts=true&streams=true")
		errs = append(errs, err)
		for _, account := range state.Accounts {
			for _, s := range account.Streams {
				if s.Name == stream && s.Cluster.Leader == n.name() {
					return n, s.Cluster, nil
				}
			}
		}
	}
	return nil, raftGroup{}, errors.Join(append(errs, fmt.Errorf("no server leads stream %s", stream))...)
}

// StepDown has the leader of a stream give its lead to another server.
func (c *NATSCluster) StepDown(ctx context.Context, stream string) error {
	leader, err := c.Leader(ctx, stream)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	answer, err := requestNATS(ctx, leader.port.Addr(), "$JS.API.STREAM.LEADER.STEPDOWN."+stream)
	if err != nil {
		return err
	}
	var result struct {
		Success bool `json:"success"`
	}
	if err := json.Unmarshal(answer, &result); err != nil || !result.Success {
		return fmt.Errorf("the leader of stream %s does not step down: %s", stream, answer)
	}
	return nil
}

// requestNATS sends an empty request and returns the answer. By hand, as queryPostgres.
func requestNATS(ctx context.Context, addr, subject string) ([]byte, error) {
	conn, err := dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	const inbox = "devstack.answer"
	reader := bufio.NewReader(conn)
	if err := readNATSInfo(reader); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "CONNECT {\"verbose\":false}\r\nSUB %s 1\r\nPUB %s %s 0\r\n\r\n", inbox, subject, inbox); err != nil {
		return nil, fmt.Errorf("cannot ask nats-server: %w", err)
	}
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("cannot read nats-server's answer: %w", err)
		}
		if strings.HasPrefix(line, "MSG ") {
			answer, err := reader.ReadBytes('\n')
			return answer, err
		}
	}
}
