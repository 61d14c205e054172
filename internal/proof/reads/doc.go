// Package reads counts what tests have read of a store, so that a bound on reads is tested and no time is.
//
//	s := &reads.Counter{Store: memstore.New()}
//	l := must.Get(ledger.Open(s, nil))(t)
//	s.N = 0
//	must.Get(l.Gate(ctx, id))(t)
//	if s.N > 10 {
//		t.Errorf("one gate took %d reads", s.N)
//	}
package reads
