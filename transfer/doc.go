// Package transfer moves threads: into a file and back, into another store, or into
// another thread of the same store.
//
//	file, err := transfer.Export(ctx, led, "order-42", w, nil)
//	file, err = transfer.Import(ctx, other, r, nil)
//	done, err := transfer.CopyStore(ctx, from, to, nil)
//	info, err := transfer.CopyThread(ctx, led, "order-42", "order-43", nil)
//
// Export, Import and CopyStore keep sequence numbers, hashes and signatures, byte for
// byte. An import is checked before anything of it is visible, and resumes where it was
// interrupted. CopyThread makes a new thread. Its entries have new hashes and name the
// checkpoints that they were copied from.
package transfer
