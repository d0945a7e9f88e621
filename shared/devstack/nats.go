package devstack

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// StartNATS starts the nats-server of BinDir, never one from the PATH, which may
// be too old for sync_interval. JetStream is on and fsyncs before it acknowledges.
// It returns once the server answers with JetStream enabled.
func StartNATS(ctx context.Context, o Options) (*Server, error) {
	path, err := natsBinary(o.BinDir)
	if err != nil {
		return nil, err
	}
	s, err := newServer(o, "nats")
	if err != nil {
		return nil, err
	}
	return s.launchNATS(ctx, path, cmp.Or(o.NATSStore, filepath.Join(s.dir, "data")), func(data string) []byte {
		return natsConfig(s.port.Addr(), data, o)
	})
}

// launchNATS runs nats-server with the configuration that config makes for a data directory.
func (s *Server) launchNATS(ctx context.Context, path, data string, config func(data string) []byte) (*Server, error) {
	file := filepath.Join(s.dir, "nats.conf")
	if err := os.WriteFile(file, config(data), 0o644); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write the configuration of nats-server: %w", err), s.discard())
	}
	return s.launch(ctx, program{
		name: filepath.Base(s.dir), url: "nats://" + s.port.Addr(), data: data,
		stop: syscall.SIGTERM, death: syscall.SIGKILL, probe: probeNATS,
		command: func() (*exec.Cmd, error) { return exec.Command(path, "--config", file), nil },
	})
}

func natsConfig(addr, storeDir string, o Options) []byte {
	config := fmt.Appendf(nil, `listen: %q
jetstream {
  store_dir: %q
  sync_interval: %s
  max_memory_store: 256MB
  max_file_store: 8GB
}
`, addr, storeDir, cmp.Or(o.NATSSync, "always"))
	if o.NATSMonitor != "" {
		config = fmt.Appendf(config, "http: %q\n", o.NATSMonitor)
	}
	return config
}

// natsBinary finds nats-server in binDir, or in bin/ beside the nearest go.work.
func natsBinary(binDir string) (string, error) {
	if binDir == "" {
		root, err := workspaceRoot()
		if err != nil {
			return "", err
		}
		binDir = filepath.Join(root, "bin")
	}
	path, err := filepath.Abs(filepath.Join(binDir, "nats-server"))
	if err != nil {
		return "", fmt.Errorf("cannot find nats-server: %w", err)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("nats-server is not at %s: run 'make setup', which builds it", path)
	}
	return path, nil
}

func workspaceRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("cannot find the workspace: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.work above the working directory: say where nats-server is")
		}
		dir = parent
	}
}

// probeNATS reads INFO, then has a PING answered, which the server does only after
// it accepted the connection.
func probeNATS(ctx context.Context, addr string) error {
	conn, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	reader := bufio.NewReader(conn)
	if err := readNATSInfo(reader); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("CONNECT {\"verbose\":false}\r\nPING\r\n")); err != nil {
		return fmt.Errorf("cannot ping nats-server: %w", err)
	}
	line, err := reader.ReadString('\n')
	if err != nil {
		return fmt.Errorf("cannot read nats-server's answer: %w", err)
	}
	if !strings.HasPrefix(line, "PONG") {
		return fmt.Errorf("nats-server answers %s", strings.TrimSpace(line))
	}
	return nil
}

func readNATSInfo(reader *bufio.Reader) error {
	line, err := reader.ReadString('\n')
	if err != nil {
		return fmt.Errorf("cannot read nats-server's greeting: %w", err)
	}
	var info struct {
		JetStream bool `json:"jetstream"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info); err != nil {
		return fmt.Errorf("cannot read nats-server's greeting %q: %w", line, err)
	}
	if !info.JetStream {
		return fmt.Errorf("nats-server runs without JetStream")
	}
	return nil
}
