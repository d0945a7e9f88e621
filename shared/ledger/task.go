package ledger

import "slices"

// step is what a task does without anything happening in between: one call of a store,
// at most. It returns the next one, nil when the task is over.
type step func() step

// task is some work under way. It dies with its process between any two steps, or with
// the reply of its last one lost.
type task struct {
	name   string
	next   step
	late   bool // of a gateway's call: nobody is answered 202 any more
	frozen bool
}

// tasksAtOnce bounds what is under way while a history runs, so that tasks end.
const tasksAtOnce = 8

func (w *World) start(name string, first func(t *task) step) {
	if len(w.tasks) >= tasksAtOnce && !w.settling {
		return
	}
	t := &task{name: name}
	if t.next = first(t); t.next != nil {
		w.tasks = append(w.tasks, t)
	}
}

// run takes the next step of a task.
func (w *World) run(t *task) {
	before := w.stateText()
	if t.next = t.next(); t.next == nil {
		w.end(t)
	}
	w.note("  %s: %s", t.name, w.news(before))
}

// end is the end of a task, or of the process that it was in.
func (w *World) end(t *task) {
	w.tasks = slices.DeleteFunc(w.tasks, func(other *task) bool { return other == t })
}

// finishTasks takes steps until no task is left, or what is left waits for others.
func (w *World) finishTasks() {
	for range 40 {
		for _, t := range slices.Clone(w.tasks) {
			w.run(t)
		}
	}
}
