package service_test

import (
	"testing"
	"testing/synctest"
	"time"

	"sluice/shared/service"
)

func TestQuiet_FirstLineThenOneEveryTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var q service.Quiet
		lines := 0
		for range 250 {
			if q.Allow() {
				lines++
			}
			time.Sleep(100 * time.Millisecond)
		}
		if lines != 3 {
			t.Errorf("%d lines in 25 s", lines)
		}
	})
}
