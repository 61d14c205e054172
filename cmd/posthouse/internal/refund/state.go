package refund

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/gate"
)

// State is the state of a request's checkpoints, as JSON. The analyzer's and
// approver's results have the same form.
type State struct {
	Request        string          `json:"request"`
	Recommendation *Recommendation `json:"recommendation,omitempty"`
	Grant          gate.Grant      `json:"grant,omitempty"`      // the decision that the approver acts under, until it has
	ApprovedBy     string          `json:"approvedBy,omitempty"` // once it was carried out
	Result         string          `json:"result,omitempty"`     // how it ended
	Error          string          `json:"error,omitempty"`      // why an agent failed
}

// extract makes a checkpoint's state of what an agent answered.
func extract(_ context.Context, e coord.Event) (posthouse.State, error) {
	if e.Kind == coord.AgentCompleted {
		return posthouse.State{posthouse.OpaquePart: {Codec: posthouse.JSON.Name(), Data: e.Data}}, nil
	}
	var s State
	if len(e.Args) > 0 {
		if err := posthouse.JSON.Unmarshal(e.Args, &s); err != nil {
			return nil, err
		}
	}
	s.Error = e.Error
	return posthouse.Opaque(nil, s)
}

// Request recovers the request from a checkpoint's state: the field request of
// its JSON. It fails for a blank or missing text, as a fork may put in.
func Request(s posthouse.State) (string, bool) {
	v, ok := s[posthouse.OpaquePart]
	if !ok || v.Codec != posthouse.JSON.Name() {
		return "", false
	}
	var st struct {
		Request string `json:"request"`
	}
	if err := json.Unmarshal(v.Data, &st); err != nil || strings.TrimSpace(st.Request) == "" {
		return "", false
	}
	return st.Request, true
}
