package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/internal/jsontype"
)

// Describe implements [posthouse.Describer]: what the flow takes, keeps and says it asks. Its
// state has the parts input and output.
func (a *App[In, Out]) Describe() *posthouse.ProgramInfo {
	d, s := a.about, &jsontype.Schemer{}
	d.Input = s.Schema(reflect.TypeFor[In]())
	if a.codec.Name() == posthouse.JSON.Name() {
		d.State = s.Object([]jsontype.Member{
			{Name: partInput, Doc: "what the run began with", Type: reflect.TypeFor[In]()},
			{Name: partOutput, Doc: "what the function returned, once it did", Type: reflect.TypeFor[Out]()},
		})
	}
	return &d
}

// StartJSON implements [posthouse.JSONStarter]. The input is In as JSON.
func (a *App[In, Out]) StartJSON(ctx context.Context, thread string, input json.RawMessage, o *posthouse.StartOptions) (*posthouse.Header, error) {
	in, err := front.ReadJSON(input, reflect.TypeFor[In]())
	if err != nil {
		return nil, err
	}
	o = cmp.Or(o, &posthouse.StartOptions{})
	return a.front.Begin(ctx, thread, in.(*In), &RunOptions{By: o.By, Labels: o.Labels, StartAt: o.StartAt}, o.DryRun)
}
