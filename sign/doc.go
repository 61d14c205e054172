// Package sign makes a store's history provable: it signs entries, and it
// verifies a whole store offline, with public keys alone.
//
// Every entry of a thread is hashed over its content and over the entry before
// it, so nothing in the middle of a log can change unnoticed. Whoever can write
// to the store could still compute all hashes anew; a signature, made with a
// key that is not in the store, is what stops that. A signature on one entry
// covers every entry before it.
//
//	key, err := sign.LoadOrCreate("signing.key")       // mode 0600; signing.key.pub beside it
//	ledger, err := posthouse.Open(store, &posthouse.Options{Signer: key})
//	...
//	ring, err := sign.LoadRing("signing.key.pub")      // on any machine, without the private key
//	report, err := sign.Verify(ctx, store, ring, nil)
//	if !report.OK() { ... }                            // report.Faults names thread, entry and record
//
// What a signature cannot show is what came after it: a log cut short, or a
// store put back to an old copy, is consistent in itself. A [Head], which package
// statement makes and reads, finds both, and threads that vanished:
//
//	report, err := sign.Verify(ctx, store, ring, &sign.VerifyOptions{Witness: head})
//
// Keys are replaced by [Rotate]: the public key file is a ring that keeps the
// keys of the past with the time they were retired, so what they signed stays
// verifiable. A signature by a key that the ring does not know is unverifiable,
// which is never taken for valid: a key that was stolen is withdrawn by taking
// it out of the ring.
//
// Entry times come from the machine that wrote them: a signature proves what
// was written and in which order, not when.
//
// It may import the standard library, the root package and internal/secretfile.
package sign
