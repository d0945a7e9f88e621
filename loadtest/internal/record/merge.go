package record

import "github.com/HdrHistogram/hdrhistogram-go"

// Exported are histograms by class, in a form that goes from one process to another.
type Exported map[string]*hdrhistogram.Snapshot

// Export copies the histograms. They are merged bucket by bucket, so what several
// processes recorded has the percentiles that one would have found.
func (l *Latencies) Export() Exported {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(Exported, len(l.classes))
	for class, h := range l.classes {
		all[class] = h.Export()
	}
	return all
}

// Merge adds what another process recorded, and returns how many latencies it could not
// take, which are those outside of what histograms hold: none of Export's.
func (l *Latencies) Merge(e Exported) (dropped int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for class, snapshot := range e {
		dropped += l.histogram(class).Merge(hdrhistogram.Import(snapshot))
	}
	return dropped
}
