package task

import "time"

// A Gauged says how busy an engine is, for whoever exports that.
type Gauged interface {
	// Gauges returns what the engine knows now, without a look at the store.
	Gauges() Gauges
}

// Gauges say how busy an engine is. The counts are what this process has seen: others that
// share the store have seen the same tasks, but have sessions of their own.
type Gauges struct {
	Queues   []QueueGauge `json:"queues"` // by task and group; a pair without an open task is not there
	Sessions int          `json:"sessions" doc:"workers whose leases this process keeps"`

	// Counts since the process started.
	Retries uint64 `json:"retries" doc:"attempts that failed and have another"`
	Failed  uint64 `json:"failed" doc:"tasks that failed for good"`
	Silent  uint64 `json:"silent" doc:"sessions that were silent for their lease"`
}

// A QueueGauge counts the open tasks of a name and a group.
type QueueGauge struct {
	Task  string `json:"task"`
	Group string `json:"group,omitempty"`

	Ready   int           `json:"ready"`   // for a worker
	Oldest  time.Duration `json:"oldest"`  // for how long the first of Ready has been; 0 if Ready is empty
	Delayed int           `json:"delayed"` // until their next attempt or iteration
	Paused  int           `json:"paused"`
	Claimed int           `json:"claimed"` // workers have them, here or at other processes
	Workers int           `json:"workers"` // that take such tasks; tasks without a worker wait for one
}
