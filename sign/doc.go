// Package sign makes a store's history provable: it signs entries, and it
// verifies a whole store offline, with public keys alone.
//
// The hash of each entry covers its content and the entry before it, so nothing in the
// middle of a log can change unnoticed. An attacker who can write to the store could
// compute all hashes again. A signature prevents that, because its key is not in the
// store. The signature of one entry covers every entry before it.
//
//	key, err := sign.LoadOrCreate("signing.key")       // mode 0600; signing.key.pub beside it
//	led, err := ledger.Open(store, &ledger.Options{Signer: key})
//	...
//	ring, err := sign.LoadRing("signing.key.pub")      // on any machine, without the private key
//	report, err := sign.Verify(ctx, store, ring, nil)
//	if !report.OK() { ... }                            // report.Faults names thread, entry and record
//
// A signature does not show what came after it: a log cut short, or a store put back to an
// old copy, is consistent in itself. A [Head], which package statement makes and reads,
// finds both, and threads that vanished:
//
//	report, err := sign.Verify(ctx, store, ring, &sign.VerifyOptions{Witness: head})
//
// [Rotate] replaces a key. The public key file is a ring, which keeps past keys with the
// time they were retired, so what they signed stays verifiable. A signature by a key that
// the ring does not have is unverifiable, and never counts as valid. To withdraw a stolen
// key, remove it from the ring.
//
// Entry times come from the machine that wrote them. So a signature proves what was written
// and in which order, not when.
package sign
