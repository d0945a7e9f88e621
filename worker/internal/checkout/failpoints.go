package checkout

// Failpoints of calls and jobs: between what was decided and written and its
// commit, and after the commit, before anybody is told.
const (
	LockDecided      = "worker.lock_decided"
	LockCommitted    = "worker.lock_committed"
	RedeemDecided    = "worker.redeem_decided"
	RedeemCommitted  = "worker.redeem_committed"
	ReleaseDecided   = "worker.release_decided"
	ReleaseCommitted = "worker.release_committed"
	RefundDecided    = "worker.refund_decided"
	RefundCommitted  = "worker.refund_committed"
	LapseDecided     = "worker.lapse_decided"
	LapseCommitted   = "worker.lapse_committed"
	ExpireDecided    = "worker.expire_decided"
	ExpireCommitted  = "worker.expire_committed"
)

// Points are all failpoints of this package.
func Points() []string {
	return []string{
		LockDecided, LockCommitted, RedeemDecided, RedeemCommitted, ReleaseDecided, ReleaseCommitted,
		RefundDecided, RefundCommitted, LapseDecided, LapseCommitted, ExpireDecided, ExpireCommitted,
	}
}

// Decided hits the point before the commit of a call or job, by the store's name for it.
func Decided(hit func(failpoint string) error) func(call string) error {
	return func(call string) error { return hit("worker." + call + "_decided") }
}
