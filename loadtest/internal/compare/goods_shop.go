package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// goodsInstances are as many as Sluice has gateways here.
	goodsInstances = saleGateways
	// goodsConns are an instance's connections to Postgres. Of conditional_update, runs with
	// 4, 8 and 16 were alike; with 2 and with 32 the last order came later.
	goodsConns = 8
)

// deciders are what an instance runs, by baseline.
var deciders = map[string]func(ctx context.Context, on backends) (decider, error){
	readCheckInsertName:   openReadCheckInsert,
	conditionalUpdateName: openConditionalUpdate,
	oneByOneName:          openOneByOne,
}

// goodsTables are those of a shop, in a schema of its own. Whether a buyer may have a
// second order is for the index to say, or not.
func goodsTables(schema, index string) string {
	return `
	DROP SCHEMA IF EXISTS ` + schema + ` CASCADE;
	CREATE SCHEMA ` + schema + `;
	CREATE TABLE ` + schema + `.stock (sale_id text PRIMARY KEY, stock bigint NOT NULL);
	CREATE TABLE ` + schema + `.orders (
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, sale_id text NOT NULL, user_id text NOT NULL, amount bigint NOT NULL, currency text NOT NULL,
		state text NOT NULL DEFAULT 'pending', created_at timestamptz NOT NULL DEFAULT now());
	CREATE ` + index + ` orders_of_user ON ` + schema + `.orders (sale_id, user_id);`
}

// goodsShop is a baseline that sells goods, at work: tables and instances.
type goodsShop struct {
	site      Site
	system    string
	schema    string
	instances []*instanceProcess
}

// openInDatabase opens a shop that needs nothing but the tables.
func openInDatabase(ctx context.Context, site Site, system, index string, sales []Sale) (Shop, error) {
	shop, err := openGoods(ctx, site, system, index, sales)
	if err != nil {
		return nil, err
	}
	if err := shop.start(ctx); err != nil {
		return nil, err
	}
	return shop, nil
}

// openGoods makes the tables, puts the sales' units in stock, without an instance.
func openGoods(ctx context.Context, site Site, system, index string, sales []Sale) (*goodsShop, error) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	shop := &goodsShop{site: site, system: system, schema: schemaOf(system)}
	if _, err := site.DB.Exec(ctx, goodsTables(shop.schema, index)); err != nil {
		return nil, fmt.Errorf("cannot make tables of %s: %w", system, err)
	}
	for _, s := range sales {
		if _, err := site.DB.Exec(ctx, `INSERT INTO `+shop.schema+`.stock (sale_id, stock) VALUES ($1, $2)`, s.ID, s.Total); err != nil {
			return nil, fmt.Errorf("cannot stock %s: %w", system, errors.Join(err, shop.Drop(ctx)))
		}
	}
	return shop, nil
}

// start starts the instances, once everything that they need is there.
func (s *goodsShop) start(ctx context.Context) error {
	for range goodsInstances {
		i, err := startProcess(s.site, s.system)
		if err != nil {
			return errors.Join(err, s.Stop(ctx), s.Drop(ctx))
		}
		s.instances = append(s.instances, i)
	}
	return nil
}

func schemaOf(system string) string { return "compare_" + system }

func (s *goodsShop) Schema() string { return s.schema }

func (s *goodsShop) URLs() []string {
	urls := make([]string, len(s.instances))
	for i, instance := range s.instances {
		urls[i] = instance.url
	}
	return urls
}

// enteredAll is how many attempts the instances have decided.
func enteredAll(ctx context.Context, urls []string) (all int64, err error) {
	for _, url := range urls {
		n, err := enteredAt(ctx, url)
		if err != nil {
			return 0, fmt.Errorf("cannot ask instance how many attempts it has decided: %w", err)
		}
		all += n
	}
	return all, nil
}

func enteredAt(ctx context.Context, url string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, deciding)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+enteredPath, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close() // it is only read
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(body), 10, 64)
}

func (s *goodsShop) Stop(context.Context) error {
	errs := make([]error, len(s.instances))
	for i, instance := range s.instances {
		errs[i] = instance.Stop(syscall.SIGTERM, instanceGrace)
	}
	return errors.Join(errs...)
}

func (s *goodsShop) Drop(ctx context.Context) error {
	if _, err := s.site.DB.Exec(ctx, `DROP SCHEMA IF EXISTS `+s.schema+` CASCADE`); err != nil {
		return fmt.Errorf("cannot drop tables of %s: %w", s.system, err)
	}
	return nil
}

// goodsPool connects an instance to Postgres, all at once: nobody waits for a dial later.
func goodsPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("cannot read postgres url: %w", err)
	}
	config.MaxConns, config.MinConns = goodsConns, goodsConns
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to postgres: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("cannot connect to postgres: %w", err)
	}
	return pool, nil
}
