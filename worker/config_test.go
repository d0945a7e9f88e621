package main

import (
	"strconv"
	"testing"
)

func TestParse_LooksAtSalesLeaveMostConnectionsToRedisToTheOthers(t *testing.T) {
	t.Parallel()
	for pool, looks := range map[int]int{1: 2, 6: 2, 32: 8, 100: 25} {
		c, err := parse([]string{"-postgres-url", "postgres://x", "-jwt-hs256", testKey, "-jwt-issuer", testIssuer, "-jwt-audience", testAudience,
			"-redis-pool", strconv.Itoa(pool)}, func(string) string { return "" })
		if err != nil || c.fulfil.Looks != looks {
			t.Errorf("%d connections: %d looks, want %d, %v", pool, c.fulfil.Looks, looks, err)
		}
	}
}
