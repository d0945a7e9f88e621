package eta

import "time"

const (
	mostWorkers = 64              // beyond, the one that was silent longest is forgotten
	silence     = 3 * time.Second // of a worker that tells at least once a second
)

// told is the last word of one worker.
type told struct {
	worker string
	pace   float64 // orders a second
	at     time.Time
}

// workers are those that told something lately.
type workers struct{ told []told }

// hear replaces the word of a worker. An unnamed one, of a version that tells no
// pace, counts for nothing.
func (w *workers) hear(now time.Time, worker string, pace float64) {
	if worker == "" {
		return
	}
	oldest := -1
	for i := range w.told {
		if w.told[i].worker == worker {
			w.told[i].pace, w.told[i].at = pace, now
			return
		}
		if oldest < 0 || w.told[i].at.Before(w.told[oldest].at) {
			oldest = i
		}
	}
	next := told{worker, pace, now}
	if len(w.told) < mostWorkers {
		w.told = append(w.told, next)
		return
	}
	w.told[oldest] = next
}

// pace is what all of them allow together, without those that fell silent.
func (w *workers) pace(now time.Time) (sum float64) {
	kept := w.told[:0]
	for _, t := range w.told {
		if now.Sub(t.at) <= silence {
			kept = append(kept, t)
			sum += t.pace
		}
	}
	clear(w.told[len(kept):]) // or their names stay
	w.told = kept
	return sum
}
