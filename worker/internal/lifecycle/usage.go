package lifecycle

// Used says how much of a cap is in use.
type Used struct {
	Ratio float64 // 0 to 1
	Of    string  // what the cap is on
}

// StreamUsed is of the cap that is the nearest; known is false before the first look.
func (m *Metrics) StreamUsed() (u Used, known bool) {
	last := m.fullest.Load()
	if last == nil {
		return Used{}, false
	}
	return *last, true
}

func (m *Metrics) showUsage(u StreamUsage) {
	sale, most := "", 0
	for saleID, n := range u.Messages {
		if n > most || n == most && saleID < sale {
			sale, most = saleID, n
		}
	}
	var fullest Used
	for _, c := range []struct {
		name        string
		used, limit int64
		of          string
	}{
		{usedBytes, u.Bytes, u.MaxBytes, "the bytes of all hand-overs"},
		{usedMessages, int64(most), u.MaxMessagesPerSale, "the hand-overs of sale " + sale},
		{usedPayments, u.PaymentsBytes, u.PaymentsMaxBytes, "the bytes of payment events"},
	} {
		ratio := share(c.used, c.limit)
		m.streamUsed.WithLabelValues(c.name).Set(ratio)
		if ratio >= fullest.Ratio {
			fullest = Used{ratio, c.of}
		}
	}
	m.fullest.Store(&fullest)
}

// share of a limit; there is none at 0 or less.
func share(used, limit int64) float64 {
	if limit <= 0 {
		return 0
	}
	return float64(used) / float64(limit)
}
