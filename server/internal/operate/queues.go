package operate

import (
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
)

// Queues is /api/queues.
type Queues struct {
	Tasks task.Gauged // nil: there is no engine of tasks here
	Now   func() time.Time
}

// A Queue counts the open tasks of a name and a group.
type Queue struct {
	Task    string     `json:"task" doc:"the handler's name"`
	Group   string     `json:"group,omitempty" doc:"of workers; absent: any"`
	Ready   int        `json:"ready" doc:"for a worker"`
	Since   *time.Time `json:"readySince,omitempty" doc:"since when the first of those is ready"`
	Delayed int        `json:"delayed" doc:"until their next attempt or iteration"`
	Paused  int        `json:"paused" doc:"until their time is over or somebody has them go on"`
	Claimed int        `json:"claimed" doc:"that workers have, of this server or of others"`
	Workers int        `json:"workers" doc:"that take such tasks; without one they wait"`
}

// Routes are the lines of the table.
func (qs *Queues) Routes() []*api.Route {
	return []*api.Route{{
		Method: http.MethodGet, Path: "/api/queues", Role: tokens.Viewer, Summary: "List queues of tasks", Handle: api.All(qs.list),
		Notes:   "By task and group, those with an open task: how many, since when the first is ready, and how many workers take them. By what this server knows, without a look at the store.",
		Answers: []api.Answer{{Status: http.StatusOK, Help: "the queues", Body: api.List[Queue]{}, Media: ""}},
	}}
}

func (qs *Queues) list(*api.Request) ([]Queue, error) {
	if qs.Tasks == nil {
		return nil, &posthouse.Error{
			Code: posthouse.CodeUnsupported, Message: "no tasks are given to workers here", Hint: "ask a server that was started with tasks",
		}
	}
	var all []Queue
	now := qs.Now()
	for _, g := range qs.Tasks.Gauges().Queues {
		q := Queue{Task: g.Task, Group: g.Group, Ready: g.Ready, Delayed: g.Delayed, Paused: g.Paused, Claimed: g.Claimed, Workers: g.Workers}
		if g.Ready > 0 {
			since := now.Add(-g.Oldest).UTC()
			q.Since = &since
		}
		all = append(all, q)
	}
	return all, nil
}
