// Package command runs a program for each execution of a task, so that a handler may be
// written in any language.
//
//	p, err := command.New([]string{"python3", "resize.py"}, nil)
//	...
//	w.HandleFunc("resize", p.Handle) // w is a worker.Worker
//
// The program is started without a shell, in a process group of its own. Its standard
// error goes to the log, and the end of that becomes the message of a failure.
//
// # The protocol
//
// Both sides write JSON, one value on each line, in UTF-8. A line has at most [MaxLine]
// bytes. The first line on standard input is the task, a [Task]:
//
//	{"task":"resize","thread":"photo-1","step":"1/resize","key":"k3","attempt":1,"iteration":0,"input":{"url":"cat.png"}}
//
// The program prints requests to standard output:
//
//	{"save":{"row":73}}                                             keeps a value for the next attempt
//	{"stream":"73 of 100"}                                          tells those who follow the thread
//	{"signal":{"thread":"order-1","name":"paid","value":true}}      sends a signal to a thread
//	{"note":{"line":"row 73","model":"m-1","inputTokens":812}}      says something for people, with the verdict
//	{"step":"fetch"}                                                asks for a step that is on record
//	{"record":{"step":"fetch","value":{"bytes":512}}}               puts that step on record
//	{"ask":{"name":"keep it","text":"Keep it?","show":{}}}          asks people
//	{"wait":{"signal":"paid","timeout":60000000000}}                takes a signal to the task's thread
//	{"act":{"name":"pay","grant":"gate-..."}}                       begins an effect that was approved
//	{"acted":{"name":"pay","value":{"receipt":7}}}                  ends it
//	{"action":"complete","output":{"width":64}}                     is the verdict
//
// Each of them is answered with a line on standard input, in their order:
//
//	{"ok":true}
//	{"error":{"code":"too-large","field":"slot","message":"has 2000000 bytes; the limit is 1040384"}}
//	{"ok":true,"value":{"bytes":512}}                               of a step that is on record, and of a signal
//	{"ok":true,"answer":{"gate":"...","verdict":"approve","by":"alice"}}
//	{"ok":true,"act":{"gate":"...","content":{"amount":40},"by":"alice","key":"..."}}
//	{"waiting":true}
//
// A step without a value is not on record: the program does it, and records it. After
// {"waiting":true} the program ends with exit code 0 and without a verdict. The task is parked,
// and the program runs again, from its top, when the answer or signal is there: it gets the
// steps that it recorded. Each execution asks in the same order, because calls of one name are
// counted.
//
// A question with "uses":1 proposes an effect: approved, it licenses one, on what it shows or what
// it was edited to. "validFor" is for how long, and "edited" the gate with an edit that is proposed to
// people of its own. The program then begins the effect under the answer's gate. After an answer with "act"
// it is on record that the effect begins: the program does it on "content", passes "key" on as the
// idempotency key, and ends it with a value, or with "failed" and why. "notDone":true says that it did not
// happen; without it the outcome of what failed is unknown. An answer with a
// value says that it is done. An effect that a program begins and does not end, because it gives its
// verdict, ends, or is killed, has an unknown outcome: the next execution's "act" asks people what became
// of it, unless it says "idempotent":true. One effect is open at a time.
//
// A value is saved durably, and a verdict is on record, when {"ok":true} comes. A program
// need not read the answers, as long as they are not more than some thousands.
//
// A verdict is what [task.ParseVerdict] reads, but for "interrupt", which is the worker's:
//
//	{"action":"complete","output":...}                              the task is done
//	{"action":"fail","reason":"..."}                                another attempt is made, if one is left
//	{"action":"fail-permanent","reason":"..."}                      no other attempt would help
//	{"action":"fail","reason":"...","notDone":true}                 the same of an effect under a grant: it did not happen
//	{"action":"retry-after","reason":"...","delay":5000000000}      as fail, and it begins after the delay, in nanoseconds
//	{"action":"unknown","reason":"..."}                             as fail, but an effect under a grant may have happened
//	{"action":"pause","name":"cool down","delay":60000000000}       the task goes on later
//	{"action":"continue","output":...}                              another iteration begins
//
// An execution has one verdict. The first that is taken counts, however the program ends; a
// second is answered with an error. One that does not fit is answered with an error, too, and
// another may be given. A program that ends without a verdict has failed, whatever its exit
// code. One that prints something else has failed and is ended. If the task runs an effect
// under a grant, people are asked then whether it happened, as for the verdict unknown: only
// fail, fail-permanent and retry-after with "notDone":true say that it did not.
//
// The verdict ends the execution, so the program should end soon: the worker is told of it
// by its next heartbeat, and ends the program then.
//
// # Plain programs
//
// With Options.Plain the program reads the input, and nothing else, up to the end of standard
// input. Its standard output is the task's output: one JSON value of at most [task.MaxOutput]
// bytes, or nothing, which is null. Exit code 0 completes the task; any other fails the
// attempt. If the task runs an effect under a grant, exit code 75 says that it did not happen;
// with any other, and if the program is killed, people are asked.
//
// # When it has to end
//
// When the worker loses the task, is cut off or stops, or the attempt takes too long, the
// group gets SIGTERM, and after Options.DrainTimeout SIGKILL. In between the program may save, and
// give its verdict, unless the task is lost. When the program ends, processes that it left in
// its group are killed. If the worker itself is killed, standard input ends; on Linux the
// program is killed with it. On Windows only the program itself is ended, at once.
//
// # Environment
//
// A program has the worker's environment but for the variables that begin with POSTHOUSE_:
// they have the worker's token. These are added: POSTHOUSE_TASK_NAME, POSTHOUSE_TASK_KEY,
// POSTHOUSE_TASK_THREAD, POSTHOUSE_TASK_STEP, POSTHOUSE_TASK_ATTEMPT and
// POSTHOUSE_TASK_ITERATION.
package command
