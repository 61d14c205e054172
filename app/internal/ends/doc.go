// Package ends keeps where the newest threads of a store ended, in a file of the data directory. A store
// that was put back to an earlier state lacks some of these ends: [Missing] returns them, so that a
// server does not start over it before somebody has said so.
//
//	have, err := ends.Load(path)
//	missing, err := ends.Missing(ctx, store, have)
//	log, err := ends.Open(path, have, logger)
//	log.Reached("order-42", tail, link) // after each append
//	err = log.Close()
//
// The file is a hint beside the store: it is appended to at most once a second and at Close, without a
// sync. A copy of the whole data directory has it, too: that this was put back is not noticed.
package ends
