// Package coord runs requests through a coordinator and a fleet of agents, and
// keeps them across questions, crashes and restarts.
//
// An [Agent] has named skills, which are functions. A [Fleet] is a set of agents.
// A [Coordinator] has a name and a [Handler], which calls agents to answer a
// message:
//
//	fleet, err := coord.NewFleet(coord.Agent{Name: "analyzer", Skills: map[string]coord.Skill{"analyze": analyze}})
//	journal, err := coord.Checkpointing(&coord.MemoryJournal{}, ledger, coord.OnAgentBoundaries, coord.WholeEvent)
//	c, err := coord.New(ledger, "dispatch", fleet, func(ctx context.Context, message string, fleet *coord.Fleet, session *coord.Session) error {
//		analysis, err := fleet.Agent("analyzer").Call(ctx, "analyze", map[string]string{"request": message})
//		if err != nil {
//			return err // a save that failed, a cancelled ctx, a question: not for the handler to deal with
//		}
//		if !analysis.Success {
//			session.Stream("Analyzer failed: " + analysis.Text)
//			return nil
//		}
//		session.Stream(analysis.Text)
//		return nil
//	}, &coord.Options{Journal: journal})
//	reply, err := c.Handle(ctx, "please refund order 1234", nil)
//
// # What is on record, and when
//
// Each request is a thread of its own. The coordinator's name is the thread's
// coordination, so that one list shows all requests. The handler is one step of
// the thread, however many checkpoints it makes. An agent's completion is
// committed together with what follows it:
//
//	handler                                      entry in the thread's log
//	analyzer.Call returns, gate.Ask waits        request, analyzer's result, checkpoint (analyzer, waiting), gate
//	(alice decides)                              decision
//	approver.Call begins, a step.Do inside it    the step's result
//	approver.Call returns, the handler returns   approver's result, checkpoint (approver, done)
//
// So the first agent's checkpoint is the root of its thread, and each later one
// is the child of the one before. The request itself is a recorded step in the
// first entry: any process that has the ledger can execute the handler again.
// Effects must be resumable: when an agent or the handler begins a step before
// there is any checkpoint, the request is committed first, as a checkpoint of the
// coordinator's own (see [RequestState]). After a crash before the first entry
// nothing happened, and nothing was acknowledged.
//
// # Resuming
//
// [Coordinator.Resume] (or a runner, through Advance) executes the handler again
// from its start. Calls that were answered are answered from the record, decided
// gates return their decision, and the session is silent until the handler gets
// beyond what is on record. A fork of a waiting checkpoint is resumed the same
// way; [Fleet.Resumed] gives the handler its state, which may have been edited.
//
// If a request ended with an agent's failure, its status is failed and Resume runs the
// agent again. If the handler went on after the failure, the failure is on record and
// is returned again.
//
// # Events and journals
//
// Everything that happens is an [Event], given to the coordinator's [Journal] and
// streamed to the client. By default the journal is [Discard]; a [MemoryJournal]
// keeps the newest events of this process. [Checkpointing] turns selected events
// into checkpoints; an [Extractor] makes their state. Without it a coordinator
// still records its requests, results and questions, but its checkpoints hold no
// agent's state. An error of the journal or of a save ends the run, also if the
// handler swallows it.
//
// # Caveats
//
// Call in the same order for the same answers: results are found by agent, skill
// and number of the call. A handler's own effects happen on each execution; put
// them into an agent or a step. Agents may be called from several goroutines; two
// calls of the same skill may then get each other's results. A checkpoint that was
// edited by hand ends the handler's execution: fork instead.
package coord
