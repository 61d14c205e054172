// Package graph runs typed graphs over a [ledger.Ledger]. A graph survives its
// process, waits for people without holding anything in memory, and has a history
// that can be read, edited, forked and replayed.
//
// # A first graph
//
// The state is a struct of yours. A node is ordinary code that reads and
// changes it; edges and routes say what comes next:
//
//	type Refund struct {
//		Request  string
//		Messages []Message `posthouse:"append"`
//		Approved bool
//	}
//
//	g := graph.New[Refund]("refund")
//	g.Node("analyze", func(ctx context.Context, s *Refund) error {
//		reply, err := step.Do(ctx, "llm", func(ctx context.Context) (Message, error) { return ask(ctx, s.Messages) })
//		if err != nil {
//			return err
//		}
//		s.Messages = append(s.Messages, reply)
//		return nil
//	})
//	g.Node("pay", pay)
//	g.Edge(graph.Start, "analyze")
//	g.Route("analyze", func(s *Refund) string {
//		if s.Approved {
//			return "pay"
//		}
//		return graph.End
//	}, "pay", graph.End)
//	g.Edge("pay", graph.End)
//
//	app, err := g.Compile(ledger, nil)
//	out, err := app.Run(ctx, "order-1234", Refund{Request: "please refund order 1234"})
//
// [Graph.Compile] lists everything that is wrong with the graph at once.
//
// # What is on record, and when
//
// Run merges the input into the thread and commits it. Then each node makes one
// checkpoint, in one atomic commit, with the parts of the state that it changed and
// the node that is next. The last node's checkpoint has the status done. A call that
// returned is as durable as the store says.
//
// A node that fails leaves a checkpoint of status failed with the state from
// before it; [App.Resume] runs it again from its start. So does the next call
// after a crash. A node's effects on the world are therefore repeated, unless
// they went through step.Do, which returns the recorded result instead.
//
// # Asking people
//
// A node that asks (gate.Ask) returns [posthouse.ErrWaiting] until there is an answer.
// Run then returns with the status waiting and the open gates in [Result.Waiting], and
// nothing is held in memory. After [ledger.Ledger.Decide], perhaps a week later and in
// another process, [App.Resume] runs the node again, with its recorded steps and the
// answer. A runner does that by itself. Static interrupts ([CompileOptions],
// [NodeOptions]) stop before or after a node without asking anything.
//
// # Time travel
//
// [App.State] and [App.History] read checkpoints with their states. [App.Update]
// changes a state by hand. The thread then goes on after a node that counts as having
// made the change (AsNode), or at a node (Goto). [App.Fork] begins a branch or a thread
// at any checkpoint, [App.Replay] runs on from there. They do not change the record:
// the past stays readable under its ids, byte for byte.
//
// [App.BulkUpdate] makes several updates, [App.Release] closes a thread as a version,
// [App.Copy] copies a thread, [App.Compare] compares two checkpoints. [App.Shape] is
// the graph as data and [App.Progress] how far a thread is in it; package draw writes
// both as text for Mermaid and Graphviz.
//
// # Changing a graph
//
// Each checkpoint has the fingerprint of its graph. Before a run continues a thread that
// another version of the graph left, it checks that the two fit. If they do not, the thread
// is untouched, and the error is one [ChangedError] with all reasons. A [Migration] renames nodes and reshapes
// the state and what was sent; recorded steps, results and gates stay. Run [App.Check]
// before a deploy: it reports what would become of every open thread.
//
// # Nodes beside each other
//
// Several edges from a place, [Graph.Routes] and commands lead to several nodes
// at once; they run side by side in one step, each on a copy of the state.
// [Graph.Map] and [Command] send inputs to a [Task], one execution each:
//
//	graph.Task(g, "fetch", func(ctx context.Context, url string, out *State) error {
//		page, err := fetch(ctx, url)
//		out.Pages = []Page{page}
//		return err
//	})
//	g.Map("plan", func(s *State) (sends []graph.Send) {
//		for _, url := range s.URLs {
//			sends = append(sends, graph.Send{Node: "fetch", Input: url})
//		}
//		return sends
//	}, "fetch")
//
// Their writes are merged once all have completed, in the order of the tasks,
// whatever order they finished in. Append parts append, other parts are merged by the
// rule of their tag or by [Merge]. Two tasks that leave different values in a part
// without a rule are an error that names both. The value that a part held before
// counts once.
//
// A task that completes before others is on record at once, and never runs again,
// whatever becomes of the others. A task that waits for a gate does not keep the others
// from running, and does not run again until its own gate was decided. [Graph.Join]
// waits for several nodes, NodeOptions.Defer for all.
//
// # Failures
//
// NodeOptions.Retry tries a node again, after delays that a restart neither
// forgets nor hastens; Timeout and IdleTimeout end an attempt. [Graph.OnError]
// runs in place of a node that failed for good. Without any of these the run
// fails, once the tasks that were running have finished.
//
// # Nodes on other hosts
//
// [Graph.Remote] adds a node that a worker handles as a whole. The thread waits for it as
// for a person: nothing is held, and engine and worker may end and come back before it is
// done.
//
// # Graphs within graphs
//
// [Graph.Inline] adds the nodes of a graph of the same state. [Subgraph] runs a graph
// with a state of its own, inside the thread or in one of its own. An interrupt, a
// crash or a fork inside a subgraph goes on inside it.
//
// # What is durable when
//
// By default each step makes a checkpoint and is durable before the next. Nodes may do
// without checkpoints ([Snapshots]), and a run may write them in the background or only
// at its end ([Durability]). In every mode recorded steps are on record before they
// return.
//
// # Reading along
//
// [App.Stream] is Run as a sequence of events. RunOptions.Modes chooses them: states
// (the default), what each task changed, checkpoints, what becomes of tasks, and what
// nodes emit while they run. They emit text by step.Token and step.Writer, any value by
// step.Emit. The last event has the result, also if the run was interrupted.
//
//	for e, err := range app.Stream(ctx, "order-1234", input, graph.RunOptions{Modes: []runs.StreamMode{runs.StreamMessages}}) {
//		if err != nil {
//			return err
//		}
//		fmt.Print(e.Text)
//	}
//
// A slow reader slows the run down. A reader that stops also stops the run, and the
// thread can be resumed. Emissions are not on record: a step that is replayed emits
// nothing.
//
// # Runs in the background, and several on one thread
//
// [App.Start] and [App.ResumeStart] return a [Handle]. It reports how the run ended,
// cancels it, or stops it before its next node. [ledger.Ledger.Cancel] cancels it from
// anywhere else. Resuming a cancelled thread returns its state; running it with a new
// input starts over.
//
// RunOptions.OnBusy says what happens when another run has the thread: [runs.Reject],
// [runs.Enqueue], [runs.Interrupt] or [runs.Rollback]. A run with an id of the caller's (RunOptions.Run)
// happens once on its thread, however often it is asked for. Asking with another input
// is an error.
//
// # State
//
// Each exported field is a part. It is encoded by itself, stored once it is not zero,
// and then only when it changed. A tag is a list of words with commas between:
//
//	posthouse:"append"      a slice that only grows; elements are stored one by one
//	posthouse:"name=total"  the part's name; default the field's
//	posthouse:"sum"         how tasks of one step merge: sum, max, min, avg (of a
//	                        [Mean]), first, last, longest, merge (of maps, by key),
//	                        set (a union), or replace, the default
//	posthouse:"-"           not stored: zero after a restart, and in every State
//
// A [Log] is an append part without a tag, and without a way to break the rule. Fields
// of an embedded struct are parts of their own. An unexported field without "-" is
// refused, since it would be lost.
//
// A step costs as much as what changed. Text, numbers, times and structs of these are
// compared in place and encoded only when they differ; append parts encode their new
// elements. Maps, pointers and other slices are encoded after every node, so keep large
// ones out of the state or make them append parts.
//
// # Caveats
//
//   - A node must not edit, remove or re-order elements of append parts: the run stops
//     with an error that names the field and the element. Edits through pointers and
//     in maps of an element are found when the run parks or ends, or after each node
//     with CompileOptions.Check: switch it on in tests.
//   - A node must not touch the state after it returned, nor keep it.
//   - Routes only read, and depend on the state alone.
//   - The next node sees a value of type any as JSON has it, numbers as float64, as it
//     would after a restart. A number that would lose digits is refused, by the name of
//     its field: give it a type of its own.
//   - Merge rules hold for one node of a step as for many: what was there counts.
//     [Overwrite] overrules them. A node that leaves a part unchanged wrote nothing.
//   - A run ends after [DefaultRecursionLimit] steps by default.
//   - One run at a time has a thread: others get [posthouse.ErrBusy], unless OnBusy says
//     otherwise.
//   - Tasks that run beside each other must not share what they reach through
//     pointers in elements of append parts, or through fields tagged "-".
//   - A step of several tasks waits for all of them, unless one failed.
//   - Threads remember the names of their graph and its nodes. A thread cannot be
//     resumed if its next node is gone, until Update with Goto moves it.
package graph
