package host

import (
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/graph/draw"
	"github.com/posthouse/posthouse/server"
)

// described returns the set's programs as clients see them.
func (s *Set) described() []server.Program {
	all := make([]server.Program, len(s.Programs))
	for i, p := range s.Programs {
		all[i] = describe(p)
	}
	return all
}

func describe(p posthouse.Program) (d server.Program) {
	d.Info = posthouse.ProgramInfo{Name: p.Name(), Kind: posthouse.ProgramOther}
	if is, ok := p.(posthouse.Describer); ok {
		d.Info = *is.Describe()
	}
	if drawn, ok := p.(interface{ Shape() *graph.Shape }); ok {
		d.Info.Picture = draw.Mermaid(drawn.Shape(), nil, nil)
		d.Info.Graph, _ = json.Marshal(draw.Outline(drawn.Shape())) // texts alone always encode
	}
	d.Starter, _ = p.(posthouse.JSONStarter)
	return d
}
