package devstack

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// postgresSettings are what durability and a test's many connections need; the
// rest is Postgres's default.
var postgresSettings = []string{
	"listen_addresses=127.0.0.1", "unix_socket_directories=",
	"fsync=on", "synchronous_commit=on", "full_page_writes=on",
	"max_connections=200", "shared_buffers=128MB", "max_wal_size=1GB",
	"timezone=UTC", "log_timezone=UTC", "logging_collector=off",
}

// StartPostgres starts the newest installed Postgres, as user postgres when this
// process is root. Its database is UTF-8 with the C.UTF-8 locale. It returns once
// SELECT 1 is answered.
func StartPostgres(ctx context.Context, o Options) (*Server, error) {
	install, err := findPostgres(debianServers)
	if err != nil {
		return nil, err
	}
	account, err := postgresAccount()
	if err != nil {
		return nil, err
	}
	s, err := newServer(o, "postgres")
	if err != nil {
		return nil, err
	}
	data := filepath.Join(s.dir, "data")
	if err := makeDataDir(ctx, install, account, data); err != nil {
		return nil, errors.Join(err, s.discard())
	}
	return s.launch(ctx, program{
		name: "postgres", url: "postgres://postgres@" + s.port.Addr() + "/postgres?sslmode=disable", data: data,
		stop: syscall.SIGINT, death: syscall.SIGQUIT, probe: probePostgres,
		command: func() (*exec.Cmd, error) {
			args := []string{"-D", data, "-p", strconv.Itoa(s.port.number)}
			for _, setting := range slices.Concat(postgresSettings, o.PostgresSettings) {
				args = append(args, "-c", setting)
			}
			return account.runs(exec.Command(install.postgres, args...)), nil
		},
	})
}

// probePostgres logs in and runs SELECT 1 over protocol version 3. By hand, so that
// who needs a stack in tests does not need a Postgres driver too.
func probePostgres(ctx context.Context, addr string) error {
	conn, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	startup := []byte("\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00")
	if err := postgresExchange(conn, nil, startup); err != nil {
		return fmt.Errorf("cannot log in to postgres: %w", err)
	}
	if err := postgresExchange(conn, []byte{'Q'}, []byte("SELECT 1\x00")); err != nil {
		return fmt.Errorf("cannot query postgres: %w", err)
	}
	return nil
}

// postgresExchange sends one message and reads up to the ReadyForQuery that ends
// the answer.
func postgresExchange(conn net.Conn, kind, body []byte) error {
	message := binary.BigEndian.AppendUint32(kind, uint32(len(body)+4))
	if _, err := conn.Write(append(message, body...)); err != nil {
		return err
	}
	for {
		header := make([]byte, 5)
		if _, err := io.ReadFull(conn, header); err != nil {
			return err
		}
		content := make([]byte, int(binary.BigEndian.Uint32(header[1:]))-4)
		if _, err := io.ReadFull(conn, content); err != nil {
			return err
		}
		switch header[0] {
		case 'Z':
			return nil
		case 'E':
			return fmt.Errorf("postgres answers %q", bytes.ReplaceAll(content, []byte{0}, []byte{' '}))
		}
	}
}
