// Package process starts this program once more, as another process, and kills it as a
// crash does, for examples that show that a process may die.
//
//	p, err := process.Start(ctx, "worker", "w1")
//	line := <-p.Lines // the next that it prints
//	err = p.Kill()    // SIGKILL: it gets no time for anything
//
// A test's main function calls the program's where [Started] says so.
package process
