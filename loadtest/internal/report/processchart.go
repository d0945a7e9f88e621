package report

import "fmt"

const (
	processRow  = 36 // pixels
	processBar  = 8
	processAxis = 24
)

// processFigure shows what CPU each process used, and what everything else on the machine
// did, on a scale of all its cores.
func (r Report) processFigure() figure {
	f := figure{
		ID: "processes", Title: "CPU per process",
		Desc:   "Cores that each process used on average while it was watched, of those that there are. What everything else on the machine used says how quiet it was.",
		Legend: []key{{"on", "Sluice and its stores"}, {"refused", "the tool that sends"}, {"l5", "everything else on the machine"}},
		Canvas: &canvas{Height: processRow*len(r.Processes) + processAxis},
		Table:  table{Head: []string{"process", "cores", "CPU s", "CPU µs an attempt", "memory MiB"}},
	}
	top := float64(max(1, r.Machine.CPUs))
	for _, p := range r.Processes {
		top = max(top, p.Cores)
	}
	f.Canvas.cores(top)
	for i, p := range r.Processes {
		f.Canvas.process(float64(i*processRow), p, top)
		f.Table.Rows = append(f.Table.Rows, []string{p.Name, short(p.Cores), short(p.CPUSeconds), orNone(p.MicrosPerTry), orNone(p.ResidentMB)})
	}
	return f
}

// cores draws the scale.
func (c *canvas) cores(top float64) {
	bottom := float64(c.Height - processAxis)
	for v := 0.0; v <= top*1.001; v += step(top, 4) {
		x := percent(100 * v / top)
		c.line(x, x, 0, bottom+4, "grid")
		unit := ""
		if v == 0 {
			unit = " cores"
		}
		c.text(x, bottom+18, "tick", "%s%s", short(v), unit)
	}
}

// process draws one bar below its name and numbers.
func (c *canvas) process(y float64, p Process, top float64) {
	value := short(p.Cores) + " cores"
	if p.MicrosPerTry > 0 {
		value += " · " + short(p.MicrosPerTry) + " µs an attempt"
	}
	c.text(0, y+14, "label", "%s", p.Name)
	c.text(100, y+14, "value", "%s", value)
	c.rect(0, percent(100*max(0, p.Cores)/top), y+20, processBar, processClass(p.Name), fmt.Sprintf("%s: %s, %s s of CPU", p.Name, value, short(p.CPUSeconds)))
}

func processClass(name string) string {
	switch name {
	case ToolProcess:
		return "refused"
	case OtherProcess:
		return "l5"
	default:
		return "on"
	}
}

// orNone leaves a cell empty where zero means nothing.
func orNone(v float64) string {
	if v == 0 {
		return ""
	}
	return short(v)
}

// writesSection is what the database wrote beside the settings that cause it, a column a
// worker.
func (r Report) writesSection() section {
	s := section{Title: "Database writes and the workers that cause them", Table: table{Head: []string{"worker"}}}
	if r.Writes.Seconds > 0 {
		s.Desc = fmt.Sprintf("%s rows inserted, updated or deleted in the %s s in which workers wrote: %s a second.",
			count(r.Writes.Rows), short(r.Writes.Seconds), count(int64(r.DBWritesPerS)))
	}
	if len(r.Settings) == 0 {
		return s
	}
	for _, name := range settingNames {
		s.Table.Rows = append(s.Table.Rows, []string{name})
	}
	for _, w := range r.Settings {
		s.Table.Head = append(s.Table.Head, w.Name)
		for i, cell := range w.Cells() {
			s.Table.Rows[i] = append(s.Table.Rows[i], cell)
		}
	}
	return s
}

var settingNames = []string{"orders a transaction, on average", "orders a transaction, at most", "transactions a second", "orders", "transactions at a time, at most",
	"pace, orders a second", "ceiling of the pace", "p90 of a transaction", "its target", "pace limited by"}

// Cells are the values of settingNames, for people.
func (w WorkerSettings) Cells() []string {
	ceiling := "none"
	if w.Ceiling > 0 {
		ceiling = count(int64(w.Ceiling))
	}
	return []string{short(w.PerCommit), short(w.Batch), short(w.Commits), count(int64(w.Orders)), short(w.Consumers),
		count(int64(w.Pace)), ceiling, millis(w.P90), millis(w.Target), w.LimitedBy}
}
