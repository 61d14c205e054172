package sign

import (
	"context"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
)

// VerifyOptions refine [Verify]. Nil is the zero value.
type VerifyOptions struct {
	Thread  string // only this thread; default all, and the store's own check
	Witness *Head  // a head from an earlier time, to find a store put back to an older state

	// RequireSigned makes it a fault if no signature covers a question, decision, removal,
	// release, end of a run, or the first entry after each second. A Ledger with a key signs
	// all of these.
	RequireSigned bool

	// RequireGrants makes an effect of class external without a grant a fault. Otherwise the
	// report lists it.
	RequireGrants bool

	Progress    func(*ThreadReport) // called after each thread, in the order of names, one call at a time
	Walked      func(Verified)      // called about every thousand entries and after each thread, one call at a time
	Concurrency int                 // threads verified at once, 1 to 64; default the processors, 2 to 8
}

// Verified is the progress of a verification.
type Verified struct {
	Threads int   // completed
	Entries int   // walked
	Bytes   int64 // of their headers and bodies
}

// Verify walks every thread of the store, or one, and collects all that is wrong. It checks
// hashes, the chain, bodies, the removal records of missing bodies, signatures, that the
// records agree with each other, and that summaries and index agree with the log. It needs
// public keys only. With an empty or nil ring it counts signatures, which then cover
// nothing.
//
// Verify only reads, and the store may be in use: it verifies each thread up to its end at
// that time. It walks several threads at once, beside the store's own check. The error is
// about the verification itself, for example [posthouse.ErrNotFound] for an unknown thread.
// The report has what is wrong with the store.
func Verify(ctx context.Context, store posthouse.Store, ring *Ring, o *VerifyOptions) (*Report, error) {
	if o == nil {
		o = &VerifyOptions{}
	}
	v := &verifier{store: store, ring: ring, opt: o, report: &Report{Keys: []KeyReport{}, Faults: []Fault{}, Ungranted: []Fault{}}}
	if o.Concurrency < 0 || o.Concurrency > maxWorkers {
		return nil, posthouse.Invalid("Concurrency", "is %d; allowed are 1 to %d", o.Concurrency, maxWorkers)
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	v.ctx = inner
	checked := v.check()
	err := v.threads()
	if err != nil {
		stop() // the result of the store's check is not needed
	}
	v.report.Faults = append(v.report.Faults, <-checked...)
	err = errors.Join(ctx.Err(), err)
	if err != nil {
		return nil, err
	}
	if o.RequireGrants {
		v.report.require()
	}
	return v.report, nil
}

type verifier struct {
	ctx    context.Context
	store  posthouse.Store
	ring   *Ring
	opt    *VerifyOptions
	report *Report
	meter  meter
}

// threads verifies each thread there is, then looks for those the witness saw.
func (v *verifier) threads() error {
	names, err := v.names()
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(names))
	var all []carried
	err = v.each(names, func(name string, c *chain) {
		there[name] = true
		v.report.add(&c.report)
		all = append(all, c.grants.carried...)
		if v.opt.Progress != nil {
			v.opt.Progress(c.summary())
		}
	})
	if err != nil {
		return err
	}
	_, seen := v.opt.Witness.thread(v.opt.Thread)
	if v.opt.Thread != "" && !there[v.opt.Thread] && !seen {
		return posthouse.NotFound("thread", v.opt.Thread)
	}
	v.vanished(there)
	return v.origins(all)
}

// names lists all threads before the first is read, because a store need not allow reads
// while it lists. If a summary is damaged, it finds threads by their checkpoints.
func (v *verifier) names() ([]string, error) {
	var names []string
	var failed error
	for info, err := range v.store.Threads(v.ctx, posthouse.ThreadQuery{Thread: v.opt.Thread}) {
		if err != nil {
			failed = err
			break
		}
		names = append(names, info.Thread)
	}
	switch {
	case failed == nil:
		return names, nil
	case !isDamage(failed):
		return nil, failed
	case v.opt.Thread != "":
		return []string{v.opt.Thread}, nil
	}
	v.report.Faults = append(v.report.Faults, Fault{Kind: FaultSummary, Record: -1, Message: "the list of threads breaks off: " + reason(failed)})
	for h, err := range v.store.List(v.ctx, posthouse.Query{}) {
		if isDamage(err) {
			break // the store's own check reports what the list lacks
		}
		if err != nil {
			return nil, err
		}
		names = append(names, h.Thread)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// vanished reports the threads that the witness saw and that the store lacks. A deleted
// thread would have left the record of its deletion.
func (v *verifier) vanished(there map[string]bool) {
	if v.opt.Witness == nil {
		return
	}
	for _, t := range v.opt.Witness.Threads {
		if !there[t.Thread] && (v.opt.Thread == "" || v.opt.Thread == t.Thread) {
			v.report.Faults = append(v.report.Faults, Fault{
				Kind: FaultVanished, Thread: t.Thread, Seq: t.Seq, Record: -1,
				Message: "the witness of " + v.opt.Witness.date() + " saw the thread up to here; nothing is left of it, not even a record of its removal",
			})
		}
	}
}

// maxTries bounds how often a thread is verified again. If it changed during a try, the
// faults found may not be real.
const maxTries = 5

// thread verifies one thread. It returns nil if the thread is gone.
func (v *verifier) thread(name string) (*chain, error) {
	info, err := v.summary(name)
	if isDamage(err) {
		return v.unsummarised(name, err)
	}
	for try := 1; ; try++ {
		if info == nil || err != nil {
			return nil, err
		}
		c, err := v.walk(info)
		if err != nil || len(c.report.Faults) == 0 || try == maxTries {
			return c, err
		}
		was := info.Tail
		info, err = v.summary(name)
		if err == nil && info != nil && info.Tail == was {
			return c, nil
		}
	}
}

// summary returns a thread's summary, nil if the thread does not exist.
func (v *verifier) summary(thread string) (*posthouse.ThreadInfo, error) {
	for info, err := range v.store.Threads(v.ctx, posthouse.ThreadQuery{Thread: thread}) {
		return info, err
	}
	return nil, nil
}

// unsummarised verifies the log of a thread with an unreadable summary.
func (v *verifier) unsummarised(name string, damage error) (*chain, error) {
	c := newChain(name, v.ring, v.opt.Witness)
	c.fault(FaultSummary, 0, -1, "", "the thread's summary cannot be read: %s", reason(damage))
	last := uint64(0)
	for e, err := range v.store.Read(v.ctx, name, posthouse.Range{Reverse: true, Limit: 1, Headers: true}) {
		if isDamage(err) {
			c.fault(FaultStore, 0, -1, "", "the end of its log cannot be read: %s", reason(err))
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		last = e.Seq
	}
	if err := v.read(c, last); err != nil {
		return nil, err
	}
	c.finish(v.opt.RequireSigned)
	c.ended(v.opt.Witness)
	return c, nil
}

// walk follows the log to the end of the summary and compares the two.
func (v *verifier) walk(info *posthouse.ThreadInfo) (*chain, error) {
	c := newChain(info.Thread, v.ring, v.opt.Witness)
	if err := v.read(c, info.Tail.Seq); err != nil {
		return nil, err
	}
	c.finish(v.opt.RequireSigned)
	if last := max(c.next, 1) - 1; last < info.Tail.Seq {
		c.missing(last+1, info.Tail.Seq, ", though the summary says so")
	}
	c.ended(v.opt.Witness)
	if c.damaged {
		return c, nil // what is derived from a damaged log differs for that reason
	}
	if err := v.beyond(c, info); err != nil {
		return nil, err
	}
	c.compare(info)
	return c, v.index(c)
}

// read feeds the entries up to last to the chain. It reports an entry that the store cannot
// read, and goes on after it.
func (v *verifier) read(c *chain, last uint64) error {
	for from := uint64(1); from <= last; from = c.next {
		err := v.feed(c, posthouse.Range{From: from, To: last})
		if !isDamage(err) {
			return err
		}
		seq := max(c.next, from)
		for ; seq <= last; seq++ { // to find the entry
			err = v.feed(c, posthouse.Range{Seqs: []uint64{seq}})
			if err != nil {
				break
			}
		}
		if !isDamage(err) {
			return err
		}
		c.unreadable(seq, err)
	}
	return nil
}

func isDamage(err error) bool {
	return errors.Is(err, posthouse.ErrCorrupt) || errors.Is(err, posthouse.ErrNewer)
}

// beyond reports entries after the end of the summary, unless the thread is growing.
func (v *verifier) beyond(c *chain, info *posthouse.ThreadInfo) error {
	for e, err := range v.store.Read(v.ctx, c.thread, posthouse.Range{From: info.Tail.Seq + 1, Limit: 1, Headers: true}) {
		if isDamage(err) {
			c.fault(FaultStore, 0, -1, "", "what is behind entry %d cannot be read: %s", info.Tail.Seq, reason(err))
			return nil
		}
		if err != nil {
			return err
		}
		now, err := v.summary(c.thread)
		if err == nil && now != nil && now.Tail == info.Tail {
			c.fault(FaultSummary, e.Seq, -1, "", "the log goes on behind entry %d, where its summary ends", info.Tail.Seq)
		}
		return err
	}
	return nil
}

// ownCheck returns the store's own check. It returns nil if the store cannot check itself,
// or if only one thread is verified.
func (v *verifier) ownCheck() posthouse.Checker {
	if v.opt.Thread != "" {
		return nil
	}
	checker, _ := v.store.(posthouse.Checker)
	return checker
}

// check runs the store's own check and sends its result when it ends.
func (v *verifier) check() <-chan []Fault {
	done := make(chan []Fault, 1)
	checker := v.ownCheck()
	if checker == nil {
		done <- nil
		return done
	}
	go func() {
		var found []Fault
		for err := range checker.Check(v.ctx) {
			if v.ctx.Err() != nil {
				break
			}
			if err != nil {
				found = append(found, Fault{Kind: FaultStore, Record: -1, Message: reason(err)})
			}
		}
		done <- found
	}()
	return done
}
