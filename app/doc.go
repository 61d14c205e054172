// Package app makes a team's own programs the whole product: the server with
// its API, inbox and approvals, and every command of posthouse.
//
//	func main() { app.Main(app.Programs{Open: open}) }
//
//	func open(ctx context.Context, env *app.Env) (*app.Set, error) {
//		orders, err := order.Compile(env.Ledger, nil) // a graph
//		if err != nil {
//			return nil, err
//		}
//		return &app.Set{
//			Programs: orders.Programs(),
//			Agents:   map[string]server.Agent{"order": app.GraphAgent(env, orders, nil)},
//		}, nil
//	}
//
// [Main] is for a binary that is nothing else. Its command serve serves the
// programs; all others talk to that server, or work on its data directory, as
// those of posthouse do. A program that has a main of its own calls [Serve]:
//
//	err := app.Serve(ctx, &app.Options{Programs: app.Programs{Open: open}, Dir: "/var/lib/shop"})
//
// # Requests
//
// The runner moves every program of a [Set] as soon as something it waits for
// has happened: an answer, a signal, a deadline, a restart. Clients find programs
// and the schemas of their inputs at GET /api/programs, and begin runs of them with JSON:
// POST /api/programs/NAME/runs. A request to an agent, POST /api/agents/NAME, is a message
// that begins a run, or goes on with a thread, and is answered with what it came to. A coordinator takes requests under
// its own name. [GraphAgent] and [FlowAgent] let requests begin runs of a graph
// and of a flow; anything else is a [server.Agent].
//
// # Stores
//
// memory:, file:DIR and sqlite:PATH are linked. Another store is given as
// Programs.OpenStore, which has the signature of Open in package store/all:
// that one opens every store, and links every driver.
//
// # Workers
//
// Workers on other hosts come over HTTP. Where they shall come over NATS, too, give Open of
// package task/natslink as Programs.OpenLink: serve and worker have --nats and
// --nats-listen then.
//
// # Caveats
//
// One process writes to a SQLite store, or to one of files. The functions of graphs and flows are
// code: a run that was begun by one version of the binary is resumed by the
// next, so change them as docs/graph.md and docs/flows.md say.
package app
