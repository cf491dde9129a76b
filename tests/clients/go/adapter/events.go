// Events of a group member, as JSON lines. The assignment is printed whole, and only when it differs from the one
// printed before, so that an eager and a cooperative member look alike.

package adapter

import (
	"slices"
	"sync"
)

// Events prints what happens to one group member; its methods may be called from any goroutine.
type Events struct {
	mu      sync.Mutex
	held    map[int32]bool
	printed []int32
	started bool
	redo    bool
}

// Assigned replaces the whole assignment (eager protocols).
func (e *Events) Assigned(partitions []int32) {
	e.change(func() { e.held = map[int32]bool{}; e.hold(partitions, true) })
}

// Added and Removed change part of the assignment (cooperative protocols).
func (e *Events) Added(partitions []int32)   { e.change(func() { e.hold(partitions, true) }) }
func (e *Events) Removed(partitions []int32) { e.change(func() { e.hold(partitions, false) }) }

// Record prints one record that the member received.
func (e *Events) Record(partition int32, offset int64, value []byte) {
	emit(map[string]any{"event": "record", "partition": partition, "offset": offset, "value": string(value)})
}

// CommitRefused says that records printed before will come again to whoever holds their partition next, which may be
// this member: the next assignment is printed as a loss of everything and a new start.
func (e *Events) CommitRefused() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.redo = true
}

// Committed prints that the broker acknowledged the offsets of what was printed before.
func (e *Events) Committed() { emit(map[string]any{"event": "committed"}) }

func (e *Events) hold(partitions []int32, on bool) {
	for _, partition := range partitions {
		if on {
			e.held[partition] = true
		} else {
			delete(e.held, partition)
		}
	}
}

func (e *Events) change(apply func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held == nil {
		e.held = map[int32]bool{}
	}
	apply()
	if e.redo {
		e.redo, e.started = false, false
		emit(map[string]any{"event": "assigned", "partitions": []int32{}})
	}
	now := sorted(e.held)
	if e.started && slices.Equal(now, e.printed) {
		return
	}
	e.started, e.printed = true, now
	emit(map[string]any{"event": "assigned", "partitions": now})
}
