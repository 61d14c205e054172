package overview

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/lists"
)

// Faces is [Of] for the threads of a list, in their order. Of a store that is a
// [lists.BulkReader] it reads the entries that most faces need with two calls, however long the
// list is.
func Faces(ctx context.Context, l *ledger.Ledger, threads []*posthouse.ThreadInfo) ([]*Face, error) {
	readers, faces := make([]*reader, len(threads)), make([]*Face, len(threads))
	for i, t := range threads {
		readers[i] = newReader(ctx, l, t)
	}
	if s, ok := l.Store().(lists.BulkReader); ok {
		if err := readAhead(ctx, s, readers); err != nil {
			return nil, err
		}
	}
	for i, r := range readers {
		var err error
		faces[i], err = r.face()
		if err != nil {
			return nil, err
		}
	}
	return faces, nil
}

// readAhead reads the newest headers of all threads, and then of each thread the entry that says
// what it is about, where its header does not.
func readAhead(ctx context.Context, s lists.BulkReader, readers []*reader) error {
	var tops, telling []posthouse.Ref
	of := make(map[string]*reader, len(readers))
	for _, r := range readers {
		of[r.t.Thread], r.topped = r, true
		for _, seq := range r.tops() {
			tops = append(tops, posthouse.Ref{Thread: r.t.Thread, Seq: seq})
		}
	}
	for e, err := range s.ReadAll(ctx, tops, true) {
		if err == nil {
			err = of[e.Thread].top(e)
		}
		if err != nil {
			return err
		}
	}
	for _, r := range readers {
		if seq := r.telling(); seq > 0 {
			telling = append(telling, posthouse.Ref{Thread: r.t.Thread, Seq: seq})
		}
	}
	if len(telling) == 0 {
		return nil
	}
	for e, err := range s.ReadAll(ctx, telling, false) {
		if err == nil {
			err = unlessUnread(of[e.Thread].log().Keep(e, true))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
