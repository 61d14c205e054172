package runs

// A StreamMode chooses what a stream yields while a program runs. RunOptions.Modes takes any
// number of them; without modes a stream yields [StreamValues].
type StreamMode string

// The modes.
const (
	// StreamValues yields the state of a graph after the input and after each step; of a flow the
	// input, each step that is done, and the output.
	StreamValues StreamMode = "values"

	StreamUpdates     StreamMode = "updates"     // what each task changed: parts of a graph's state, the result of a flow's step
	StreamMessages    StreamMode = "messages"    // text as it comes: step.Token, step.Writer
	StreamCustom      StreamMode = "custom"      // values as they come: step.Emit
	StreamCheckpoints StreamMode = "checkpoints" // the header of each checkpoint
	StreamTasks       StreamMode = "tasks"       // what becomes of each task, and of each time a flow's function is executed
	StreamDebug       StreamMode = "debug"       // tasks and checkpoints
)

// StreamModes returns all modes.
func StreamModes() []StreamMode {
	return []StreamMode{StreamValues, StreamUpdates, StreamMessages, StreamCustom, StreamCheckpoints, StreamTasks, StreamDebug}
}

// An EventKind says what an event of a stream reports. More kinds will come: skip those that you
// do not know.
type EventKind string

// The kinds of event. All but those of tasks and text are sent once what they report is on record.
const (
	EventInput EventKind = "input" // values: the input is on record; the first node, or the function, is next
	EventNode  EventKind = "node"  // values: a step is done, or a flow's function
	EventPark  EventKind = "park"  // the last of any stream: the run waits, was interrupted, or drained
	EventEnd   EventKind = "end"   // the last of any stream: the run is done, or was cancelled

	EventUpdate     EventKind = "update"     // updates: a task completed
	EventMessage    EventKind = "message"    // messages: a piece of text
	EventCustom     EventKind = "custom"     // custom: a value
	EventCheckpoint EventKind = "checkpoint" // checkpoints: one was made

	EventTaskStart  EventKind = "task.start"  // an attempt begins, or an error handler; a flow's function is executed from its top
	EventTaskFinish EventKind = "task.finish" // it has returned; its result is not on record yet
	EventTaskWait   EventKind = "task.wait"   // it waits for a gate, or for an attempt that is not due soon
	EventTaskRetry  EventKind = "task.retry"  // an attempt failed with Err; the next begins at Due
	EventTaskError  EventKind = "task.error"  // it failed with Err; its error handler, if it has one, starts next
	EventTaskStop   EventKind = "task.stop"   // it was stopped before it ended, or halts at an interrupt inside its subgraph
)
