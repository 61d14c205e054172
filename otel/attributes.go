package otel

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/posthouse/posthouse/trace"
)

// attributesOf returns what a span says from its beginning on.
func attributesOf(s *trace.Span) []attribute.KeyValue {
	if s.Kind == trace.KindRequest {
		return []attribute.KeyValue{attribute.String("http.request.method", s.Name)}
	}
	as := []attribute.KeyValue{attribute.String("gen_ai.conversation.id", s.Thread), attribute.String("posthouse.thread", s.Thread)}
	add := func(key, value string) {
		if value != "" {
			as = append(as, attribute.String(key, value))
		}
	}
	add("posthouse.branch", s.Branch)
	add("posthouse.run", s.Run)
	add("posthouse.program", s.Program)
	switch s.Kind {
	case trace.KindRun:
		add("gen_ai.operation.name", "invoke_agent")
		add("gen_ai.agent.name", s.Name)
	case trace.KindNode:
		add("posthouse.node", s.Name)
	case trace.KindStep:
		add("posthouse.step", s.Name)
		add("posthouse.step.effect", string(s.Effect))
		if isTool(s) {
			add("gen_ai.operation.name", "execute_tool")
			add("gen_ai.tool.name", s.Name)
		}
	case trace.KindGate:
		add("posthouse.gate.name", s.Name)
		if g := s.Gate; g != nil {
			add("posthouse.gate.id", string(g.ID))
			add("posthouse.gate.kind", string(g.Kind))
			if g.Decision != nil {
				add("posthouse.gate.verdict", string(g.Decision.Verdict))
			}
		}
	}
	if s.Attempt > 0 {
		as = append(as, attribute.Int("posthouse.attempt", s.Attempt))
	}
	if s.Replay {
		as = append(as, attribute.Bool("posthouse.replay", true))
	}
	return as
}
