package compare

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/valyala/fasthttp"
)

const (
	// connTimeout is how long a claim waits for a connection to Postgres before 503. The
	// claimer may have gone by then.
	connTimeout = 4 * time.Second
	// claimTimeout bounds what a claim does with it.
	claimTimeout = 30 * time.Second
)

// incidentInstance is one server of the incident's service. It knows nothing of the
// others but what is in Postgres.
type incidentInstance struct {
	url      string
	server   *fasthttp.Server
	pool     *pgxpool.Pool
	serving  chan error
	claims   context.Context // of those under way
	endClaim context.CancelFunc

	mu     sync.Mutex
	counts map[string]count // by template
}

// count is an instance's copy of what it has read of a template.
type count struct {
	total, issued int64
	readAt        time.Time
}

func startIncident(ctx context.Context, postgres string) (*incidentInstance, error) {
	config, err := pgxpool.ParseConfig(postgres)
	if err != nil {
		return nil, fmt.Errorf("cannot read postgres url: %w", err)
	}
	config.MaxConns, config.MinConns = incidentConns, incidentConns
	i := &incidentInstance{counts: make(map[string]count), serving: make(chan error, 1)}
	if i.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("cannot connect to postgres: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		i.pool.Close()
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	i.claims, i.endClaim = context.WithCancel(context.WithoutCancel(ctx))
	i.url = "http://" + listener.Addr().String()
	i.server = &fasthttp.Server{Name: incidentName, Handler: i.handle, ReadTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: time.Minute}
	go func() { i.serving <- i.server.Serve(listener) }()
	return i, nil
}

// stop lets claims under way end first.
func (i *incidentInstance) stop(ctx context.Context) error {
	defer i.pool.Close()
	defer i.endClaim()
	if err := i.server.ShutdownWithContext(ctx); err != nil {
		return fmt.Errorf("cannot stop instance of %s: %w", incidentName, err)
	}
	if err := <-i.serving; err != nil {
		return fmt.Errorf("instance of %s ended: %w", incidentName, err)
	}
	return nil
}

// handle answers a claim.
func (i *incidentInstance) handle(ctx *fasthttp.RequestCtx) {
	template := strings.TrimSuffix(strings.TrimPrefix(string(ctx.Path()), "/v1/sales/"), "/orders")
	user := strings.TrimPrefix(string(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization)), "Bearer ")
	claim, cancel := context.WithTimeout(i.claims, claimTimeout)
	defer cancel()
	given, err := i.claim(claim, template, user)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		answer(ctx, http.StatusNotFound, `{"type":"/problems/no-such-sale","status":404}`)
	case err != nil:
		answer(ctx, http.StatusServiceUnavailable, `{"type":"/problems/unavailable","status":503}`)
	case given:
		answer(ctx, http.StatusCreated, `{"status":"confirmed"}`)
	default:
		answer(ctx, http.StatusConflict, `{"type":"/problems/sold-out","status":409}`)
	}
}

func answer(ctx *fasthttp.RequestCtx, status int, body string) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	ctx.SetBodyString(body)
}

// claim gives out a coupon, unless this instance believes that none is left.
func (i *incidentInstance) claim(ctx context.Context, template, user string) (given bool, err error) {
	if err := i.refresh(ctx, template); err != nil {
		return false, err
	}
	if !i.take(template) {
		return false, nil
	}
	if err := i.give(ctx, template, user); err != nil {
		return false, err
	}
	return true, nil
}

// take counts a coupon in the instance's own copy, if that says that one is left.
func (i *incidentInstance) take(template string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	believed := i.counts[template]
	if believed.issued >= believed.total {
		return false
	}
	believed.issued++
	i.counts[template] = believed
	return true
}

// refresh reads the copy again once it is too old. Those who come meanwhile read it too.
func (i *incidentInstance) refresh(ctx context.Context, template string) error {
	i.mu.Lock()
	believed, known := i.counts[template]
	i.mu.Unlock()
	if known && time.Since(believed.readAt) < incidentRefresh {
		return nil
	}
	conn, err := i.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	read := count{readAt: time.Now()}
	err = conn.QueryRow(ctx, `
		SELECT total, (SELECT count(*) FROM `+incidentSchema+`.coupons WHERE template_id = t.template_id)
		FROM `+incidentSchema+`.coupon_templates AS t WHERE template_id = $1`, template).Scan(&read.total, &read.issued)
	if err != nil {
		return fmt.Errorf("cannot read count: %w", err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.counts[template].readAt.Before(read.readAt) {
		i.counts[template] = read
	}
	return nil
}

// give reads the count, makes the coupon, and writes the count that was read and one.
func (i *incidentInstance) give(ctx context.Context, template, user string) error {
	conn, err := i.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		var issued int64
		if err := tx.QueryRow(ctx, `SELECT issued FROM `+incidentSchema+`.coupon_templates WHERE template_id = $1`, template).Scan(&issued); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO `+incidentSchema+`.coupons (template_id, user_id) VALUES ($1, $2)`, template, user); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE `+incidentSchema+`.coupon_templates SET issued = $2 WHERE template_id = $1`, template, issued+1)
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot give out coupon: %w", err)
	}
	return nil
}

func (i *incidentInstance) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connTimeout)
	defer cancel()
	conn, err := i.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot acquire connection: %w", err)
	}
	return conn, nil
}
