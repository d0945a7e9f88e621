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
	programs, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	return programs.start(ctx, o, "postgres", func(data string) error {
		return makeDataDir(ctx, programs.postgresInstall, programs.account, data)
	})
}

// postgresRunner is one version's programs, and who runs them.
type postgresRunner struct {
	postgresInstall
	account
}

func postgresPrograms() (postgresRunner, error) {
	install, err := findPostgres(debianServers)
	if err != nil {
		return postgresRunner{}, err
	}
	account, err := postgresAccount()
	return postgresRunner{install, account}, err
}

// start starts a server on the data directory that fill makes.
func (r postgresRunner) start(ctx context.Context, o Options, name string, fill func(data string) error) (*Server, error) {
	s, err := newServer(o, name)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(s.dir, "data")
	if err := fill(data); err != nil {
		return nil, errors.Join(err, s.discard())
	}
	return s.launch(ctx, program{
		name: name, url: "postgres://postgres@" + s.port.Addr() + "/postgres?sslmode=disable", data: data,
		stop: syscall.SIGINT, death: syscall.SIGQUIT, probe: probePostgres,
		command: func() (*exec.Cmd, error) {
			args := []string{"-D", data, "-p", strconv.Itoa(s.port.number)}
			for _, setting := range slices.Concat(postgresSettings, o.PostgresSettings) {
				args = append(args, "-c", setting)
			}
			return r.runs(exec.Command(r.postgres, args...)), nil
		},
	})
}

// probePostgres logs in and runs SELECT 1.
func probePostgres(ctx context.Context, addr string) error {
	_, err := queryPostgres(ctx, addr, "SELECT 1")
	return err
}

// postgresError is what the server itself answers: it is there.
type postgresError struct{ text string }

func (e *postgresError) Error() string { return "postgres answers " + strconv.Quote(e.text) }

// queryPostgres logs in and runs one statement over protocol version 3, and returns the
// first column of its rows as text. By hand, so that who needs a stack in tests does not
// need a Postgres driver too.
func queryPostgres(ctx context.Context, addr, sql string) ([]string, error) {
	conn, err := dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	startup := []byte("\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00")
	if _, err := postgresExchange(conn, nil, startup); err != nil {
		return nil, fmt.Errorf("cannot log in to postgres: %w", err)
	}
	rows, err := postgresExchange(conn, []byte{'Q'}, append([]byte(sql), 0))
	if err != nil {
		return nil, fmt.Errorf("cannot query postgres: %w", err)
	}
	return rows, nil
}

// postgresExchange sends one message and reads up to the ReadyForQuery that ends
// the answer.
func postgresExchange(conn net.Conn, kind, body []byte) (rows []string, err error) {
	message := binary.BigEndian.AppendUint32(kind, uint32(len(body)+4))
	if _, err := conn.Write(append(message, body...)); err != nil {
		return nil, err
	}
	for {
		header := make([]byte, 5)
		if _, err := io.ReadFull(conn, header); err != nil {
			return nil, err
		}
		content := make([]byte, int(binary.BigEndian.Uint32(header[1:]))-4)
		if _, err := io.ReadFull(conn, content); err != nil {
			return nil, err
		}
		switch header[0] {
		case 'Z':
			return rows, nil
		case 'D':
			rows = append(rows, firstColumn(content))
		case 'E':
			return nil, &postgresError{string(bytes.ReplaceAll(content, []byte{0}, []byte{' '}))}
		}
	}
}

// firstColumn reads a DataRow: a count of columns, and a length before each; NULL is "".
func firstColumn(row []byte) string {
	if len(row) < 6 {
		return ""
	}
	length := int(int32(binary.BigEndian.Uint32(row[2:])))
	if length < 0 || 6+length > len(row) {
		return ""
	}
	return string(row[6 : 6+length])
}
