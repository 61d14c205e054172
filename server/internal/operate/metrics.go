package operate

import (
	"context"
	"net/http"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/posthouse/posthouse/internal/base/build"
	"github.com/posthouse/posthouse/internal/base/prom"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/census"
	"github.com/posthouse/posthouse/server/internal/limit"
	counts "github.com/posthouse/posthouse/server/metrics"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
)

// MetricsPath is where Prometheus scrapes.
const MetricsPath = "/metrics"

// Metrics is /metrics. Make it with [NewMetrics].
type Metrics struct {
	Watched
	census  *census.Census
	binary  build.Info
	started time.Time
}

// Watched is what metrics are of.
type Watched struct {
	Counts  *counts.Metrics
	Ledger  *ledger.Ledger
	Tasks   task.Gauged // nil: there is no engine of tasks here
	Streams *limit.Quota
	// Notifier has counts of deliveries; nil: no message is sent.
	Notifier interface{ Metrics() []byte }
	Version  string
	Now      func() time.Time
	Life     *limit.Lifetime
}

// NewMetrics returns the resource.
func NewMetrics(w *Watched) *Metrics {
	enter := func() (context.Context, func(), error) {
		leave, err := w.Life.Enter()
		return w.Life.Context(), leave, err
	}
	return &Metrics{Watched: *w, census: census.New(w.Ledger, w.Now, enter), binary: build.Read(w.Version), started: w.Now()}
}

// Routes are the lines of the table.
func (m *Metrics) Routes() []*api.Route {
	return []*api.Route{{
		Method: http.MethodGet, Path: MetricsPath, Role: tokens.Viewer, Style: api.Asset, Summary: "Metrics for Prometheus", Handle: m.get,
		Notes: "Figures of this process since it started, and of what is open in the store, counted at most each 15 seconds. " +
			"It answers for every Host, as the probes do, but needs a token.",
		Answers: []api.Answer{{Status: http.StatusOK, Help: "metrics in the text format of Prometheus", Body: nil, Media: "text/plain"}},
	}}
}

func (m *Metrics) get(w http.ResponseWriter, r *api.Request) error {
	var t prom.Text
	t.Family("posthouse_build_info", prom.Gauge, "What this process was built from.").
		Sample(1, "version", m.binary.Version, "revision", m.binary.Revision, "goversion", m.binary.Go)
	t.Gauge("process_start_time_seconds", "When the server started, in Unix time.", unix(m.started))
	m.writeOpen(r.Context(), &t)
	t.Append(m.Counts.Text())
	leases := m.Ledger.Core().Leases()
	t.Gauge("posthouse_leases_held", "Threads that this process runs.", float64(leases.Held))
	t.Counter("posthouse_leases_taken_over_total", "Leases that were taken from a process that was gone.", leases.Taken)
	t.Counter("posthouse_leases_lost_total", "Leases that another process took from this one.", leases.Lost)
	t.Gauge("posthouse_streams", "Event streams, WebSockets and waiting claims of workers that are open.", float64(m.Streams.Held()))
	if m.Tasks != nil {
		writeTasks(&t, m.Tasks.Gauges())
	}
	if m.Notifier != nil {
		t.Append(m.Notifier.Metrics())
	}
	writeRuntime(&t)
	w.Header().Set("Content-Type", prom.ContentType)
	_, _ = w.Write(t.Bytes()) // the client may be gone
	return nil
}

// writeOpen writes what is open in the store.
func (m *Metrics) writeOpen(ctx context.Context, t *prom.Text) {
	found, err := m.census.Get(ctx)
	up := 1.0
	if err != nil {
		up = 0
	}
	t.Gauge("posthouse_census_success", "Whether the newest count of the store succeeded.", up)
	if found == nil {
		return
	}
	now := m.Now()
	t.Gauge("posthouse_census_age_seconds", "How long ago the figures of open threads and questions were counted.", now.Sub(found.At).Seconds())
	t.Gauge("posthouse_census_limit", "At most so many threads of a status, and open questions, are counted.", census.Most)
	threads := prom.NewCounts("status")
	for status, n := range found.Threads {
		threads.Add(uint64(n), string(status))
	}
	threads.Write(t, "posthouse_threads", prom.Gauge, "Threads of the store that are not done, by status.")
	open, oldest := prom.NewCounts("question"), map[string]float64{}
	for _, name := range found.Names() {
		q := found.Questions[name]
		label := open.Add(uint64(q.Open), name)
		if !q.Oldest.IsZero() {
			oldest[label] = max(oldest[label], now.Sub(q.Oldest).Seconds())
		}
	}
	open.Write(t, "posthouse_gates_open", prom.Gauge, "Questions of the store that wait for people, by their names.")
	f := t.Family("posthouse_gates_oldest_seconds", prom.Gauge, "How long the oldest open question of a name has waited.")
	for _, name := range open.Names() {
		f.Sample(oldest[name], "question", name)
	}
}

// writeTasks writes how busy the engine of tasks is.
func writeTasks(t *prom.Text, g task.Gauges) {
	t.Gauge("posthouse_workers", "Workers whose leases this process keeps.", float64(g.Sessions))
	states := prom.NewCounts("task", "group", "state")
	waits, takers := map[string]time.Duration{}, map[string]int{}
	for _, q := range g.Queues {
		var label string
		for state, n := range map[string]int{"ready": q.Ready, "delayed": q.Delayed, "paused": q.Paused, "claimed": q.Claimed} {
			label = states.Add(uint64(n), q.Task, q.Group, state)
		}
		waits[label], takers[label] = max(waits[label], q.Oldest), max(takers[label], q.Workers)
	}
	states.Write(t, "posthouse_tasks", prom.Gauge, "Open tasks, by name, group and state.")
	oldest := t.Family("posthouse_tasks_oldest_seconds", prom.Gauge, "How long the oldest task of a name has been ready for a worker.")
	for _, name := range states.Names() {
		oldest.Sample(waits[name].Seconds(), "task", name)
	}
	workers := t.Family("posthouse_task_workers", prom.Gauge, "Workers that take tasks of a name; of several groups, those of the one that has most.")
	for _, name := range states.Names() {
		workers.Sample(float64(takers[name]), "task", name)
	}
	t.Counter("posthouse_task_retries_total", "Attempts of tasks that failed and have another.", g.Retries)
	t.Counter("posthouse_tasks_failed_total", "Tasks that failed for good.", g.Failed)
	t.Counter("posthouse_workers_lost_total", "Workers that were silent for their lease: their tasks were lost.", g.Silent)
}

// writeRuntime writes what Go knows of the process.
func writeRuntime(t *prom.Text) {
	t.Gauge("go_goroutines", "Goroutines that exist.", float64(runtime.NumGoroutine()))
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(samples)
	value := func(i int) uint64 {
		if samples[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return samples[i].Value.Uint64()
	}
	t.Gauge("go_heap_objects_bytes", "Memory of objects, dead ones included until they are swept.", float64(value(0)))
	t.Gauge("go_memory_bytes", "Memory that the runtime has from the operating system.", float64(value(1)))
	t.Counter("go_gc_cycles_total", "Collections of garbage.", value(2))
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
