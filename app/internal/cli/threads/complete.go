package threads

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/client"
)

// Completers returns what shells are offered, by the name of an argument in a usage line.
func Completers() map[string]env.Completer {
	checkpoint := env.Offer("/api/checkpoints", func(h *posthouse.Header) (string, string) {
		return string(h.ID), h.Kind + " " + agentOrNode(h) + " of " + h.Thread
	})
	return map[string]env.Completer{
		"GATE":    env.Offer("/api/gates", func(g *posthouse.Gate) (string, string) { return string(g.ID), headline(g) }),
		"THREAD":  env.Offer("/api/threads", func(t *posthouse.ThreadInfo) (string, string) { return t.Thread, t.Graph + " " + string(t.Status) }),
		"PROGRAM": env.Offer("/api/programs", func(p *posthouse.ProgramInfo) (string, string) { return p.Name, p.Kind + " " + p.Description }),
		"NODE":    ofPrograms(nodes),
		"VERSION": ofPrograms(func(_ context.Context, _ *client.Client, p *posthouse.ProgramInfo) []string {
			return []string{p.Version}
		}),
		"CHECKPOINT": checkpoint,
		"A":          checkpoint,
		"B":          checkpoint,
	}
}

// ofPrograms offers something of each program.
func ofPrograms(values func(context.Context, *client.Client, *posthouse.ProgramInfo) []string) env.Completer {
	return func(ctx context.Context, e *env.Env) (out []string) {
		c, err := e.Client()
		if err != nil {
			return nil
		}
		for p, err := range c.Programs(ctx) {
			if err != nil {
				return out
			}
			for _, v := range values(ctx, c, p) {
				if v != "" {
					out = append(out, term.Typeable(v)+"\tof "+term.Visible(p.Name))
				}
			}
		}
		return out
	}
}

// nodes returns the nodes of a graph, as checkpoints name them.
func nodes(ctx context.Context, c *client.Client, p *posthouse.ProgramInfo) (ids []string) {
	p, err := c.Program(ctx, p.Name) // a list has no graphs
	if err != nil {
		return nil
	}
	var g struct {
		Nodes []struct {
			ID string `json:"id"`
		} `json:"nodes"`
	}
	if json.Unmarshal(p.Graph, &g) != nil {
		return nil
	}
	for _, n := range g.Nodes {
		if !strings.HasPrefix(n.ID, ">") { // its beginning and its end
			ids = append(ids, n.ID)
		}
	}
	return ids
}
