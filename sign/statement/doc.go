// Package statement makes and reads signed statements about a store, as DSSE
// envelopes (the signing envelope of in-toto and Sigstore).
//
// [Witness] states where every thread ends. A signature does not show what came after it: a
// log cut short, or a store put back to an old copy, is consistent in itself. [sign.Verify]
// finds both, and threads that vanished, with a head that was kept elsewhere.
//
//	head, err := statement.Witness(ctx, store, key, nil)
//	err = statement.SaveHead("head.json", head)          // keep the file on another machine
//	...
//	head, err = statement.LoadHead("head.json", ring)
//	report, err := sign.Verify(ctx, store, ring, &sign.VerifyOptions{Witness: head})
//
// [Export] writes one thread's audit trail with its entries, hashes and signatures, which
// [OpenExport] checks without a store.
package statement
