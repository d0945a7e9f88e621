package chaos

import (
	"context"
	"os"
	"time"

	"sluice/shared/devstack"
)

// redisComesBackOld: it is there, it answers, and has forgotten the last reservations.
func redisComesBackOld() Row {
	return Row{
		ID: "11", Name: "redis-comes-back-old", Bound: 15 * time.Second,
		Fault:  "Redis is killed and comes back without the last of what it wrote",
		Expect: "its run id differs: the sale is fenced and rebuilt, and nobody is rejected late",
		Run:    func(ctx context.Context, r *Round) error { return r.redisLoses(ctx, r.cutTail) },
	}
}

// cutTail takes the last tenth of what Redis has appended since it was last rewritten.
func (r *Round) cutTail(s *devstack.Server) error {
	path, size, err := appendOnlyFile(s.DataDir())
	if err != nil {
		return err
	}
	return os.Truncate(path, size*9/10)
}
