package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// Refusals of a change of merchants' keys.
var (
	ErrNoMerchantKey       = errors.New("no such merchant key")
	ErrTooManyMerchantKeys = errors.New("there are too many merchant keys: revoke some")
)

// mostMerchantKeys bounds what every worker keeps in memory and reads again and again.
const mostMerchantKeys = 10_000

const merchantColumns = `key_id, hash, merchant, scopes, created_at, revoked_at`

func scanMerchantKey(row pgx.CollectableRow) (sale.MerchantKey, error) {
	var k sale.MerchantKey
	var hash []byte
	var scopes []string
	var revoked *time.Time
	if err := row.Scan(&k.ID, &hash, &k.Merchant, &scopes, &k.CreatedAt, &revoked); err != nil {
		return k, err
	}
	copy(k.Hash[:], hash) // the table has no hash of another length
	for _, scope := range scopes {
		k.Scopes = append(k.Scopes, sale.Scope(scope))
	}
	k.CreatedAt = k.CreatedAt.UTC()
	if revoked != nil {
		k.RevokedAt = revoked.UTC()
	}
	return k, nil
}

// CreateMerchantKey keeps a new key, with a record in the audit log that does not have
// its hash. ErrTooManyMerchantKeys.
func (s *Store) CreateMerchantKey(ctx context.Context, by sale.Actor, k sale.MerchantKey) error {
	scopes := make([]string, len(k.Scopes))
	for i, scope := range k.Scopes {
		scopes[i] = string(scope)
	}
	err := s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			INSERT INTO merchant_keys (key_id, hash, merchant, scopes)
			SELECT $1, $2, $3, $4 WHERE (SELECT count(*) FROM merchant_keys WHERE revoked_at IS NULL) < $5`,
			k.ID, k.Hash[:], k.Merchant, scopes, mostMerchantKeys)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return ErrTooManyMerchantKeys
		}
		return record(ctx, tx, by, sale.ActionMerchantKeyCreate, "", k.ID, fields{"merchant": {nil, k.Merchant}, "scopes": {nil, scopes}})
	})
	if err != nil {
		return fmt.Errorf("cannot create merchant key: %w", err)
	}
	return nil
}

// RevokeMerchantKey ends a key for good, and reports whether it was good until then.
// ErrNoMerchantKey.
func (s *Store) RevokeMerchantKey(ctx context.Context, by sale.Actor, id string) (revoked bool, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		keys, err := collect(ctx, tx, scanMerchantKey, `SELECT `+merchantColumns+` FROM merchant_keys WHERE key_id = $1 FOR UPDATE`, id)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			return ErrNoMerchantKey
		}
		if revoked = keys[0].RevokedAt.IsZero(); !revoked {
			return nil
		}
		if _, err := tx.Exec(ctx, `UPDATE merchant_keys SET revoked_at = now() WHERE key_id = $1`, id); err != nil {
			return err
		}
		return record(ctx, tx, by, sale.ActionMerchantKeyRevoke, "", id, fields{"revoked": {false, true}})
	})
	if err != nil {
		return false, fmt.Errorf("cannot revoke merchant key %s: %w", id, err)
	}
	return revoked, nil
}

// MerchantKeys returns all keys, revoked ones too, newest first.
func (s *Store) MerchantKeys(ctx context.Context) ([]sale.MerchantKey, error) {
	return s.merchantKeys(ctx, ``)
}

// LiveMerchantKeys returns the keys that are good.
func (s *Store) LiveMerchantKeys(ctx context.Context) ([]sale.MerchantKey, error) {
	return s.merchantKeys(ctx, `WHERE revoked_at IS NULL `)
}

func (s *Store) merchantKeys(ctx context.Context, where string) ([]sale.MerchantKey, error) {
	keys, err := read(ctx, s, scanMerchantKey, `SELECT `+merchantColumns+` FROM merchant_keys `+where+`ORDER BY created_at DESC, key_id`)
	if err != nil {
		return nil, fmt.Errorf("cannot read merchant keys: %w", err)
	}
	return keys, nil
}
