package frontier_test

import (
	"reflect"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
)

// TestPlanIsReadAsItWasWritten holds for all that a frontier stores. The bytes are
// part of the log's format.
func TestPlanIsReadAsItWasWritten(t *testing.T) {
	f := frontier.Frontier{
		Tasks: []frontier.Target{
			{Node: "fetch", Input: &posthouse.Value{Codec: "json", Data: []byte(`"x"`)}, Timeout: 5},
			{Node: "raw", Input: &posthouse.Value{Codec: "raw", Data: []byte{1}}}, {Node: "new", Was: "old"}, {Node: "done", Edges: true},
		},
		Arrived: map[string][]string{"join": {"a"}}, Deferred: []string{"last"}, Skipped: 2, Epoch: 7,
	}
	data, err := f.EncodePlan()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"tasks":[{"node":"fetch","in":"x","timeout":5},{"node":"raw","codec":"raw","data":"AQ=="},{"node":"new","was":"old"},{"node":"done","edges":true}],` +
		`"arrived":{"join":["a"]},"deferred":["last"],"skipped":2,"era":7}`
	if string(data) != want {
		t.Errorf("the plan is %s\nwant %s", data, want)
	}
	back, err := frontier.ReadFrontier(nil, posthouse.State{frontier.PlanPart: {Codec: "json", Data: data}}, frontier.PlanPart)
	if err != nil || !reflect.DeepEqual(back, f) {
		t.Errorf("%v: %+v\nwant %+v", err, back, f)
	}
}

// TestPlanIsLeftOut holds where the names of the next nodes say it all.
func TestPlanIsLeftOut(t *testing.T) {
	f := frontier.Frontier{Tasks: []frontier.Target{{Node: "a"}, {Node: "b"}}}
	if data, err := f.EncodePlan(); data != nil || err != nil {
		t.Errorf("data %s, error %v", data, err)
	}
	back, err := frontier.ReadFrontier([]string{"a", "b"}, nil, frontier.PlanPart)
	if err != nil || !reflect.DeepEqual(back.Tasks, f.Tasks) {
		t.Errorf("back.Tasks %+v, error %v", back.Tasks, err)
	}
}

// TestNamesOnRecord tells a renamed node's executions from those of the node that
// got its old name.
func TestNamesOnRecord(t *testing.T) {
	n := frontier.Names{"b": "a"}
	if n.Of("b") != "a" || n.Of("a") != "a~" || n.Of("c") != "c" || n.Of("sub/a") != "a" {
		t.Errorf("%q %q %q %q", n.Of("b"), n.Of("a"), n.Of("c"), n.Of("sub/a"))
	}
}
