package posthouse

import (
	"cmp"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// Optional fields of a checkpoint's header, in the order of their encoding.
const (
	flagParent = 1 << iota
	flagCoordination
	flagBranch
	flagRun
	flagGraph
	flagFingerprint
	flagNode
	flagAgent
	flagNext
	flagSource
	flagLabels
	flagBy
	flagError
	flagCreated
	flagRevision
	flagOrder
	flagStory
	flagsEnd
)

func checkpointFlags(c *Header) (flags uint64) {
	set := func(cond bool, flag uint64) {
		if cond {
			flags |= flag
		}
	}
	uuid, own := c.ID.UUID()
	set(c.ParentSeq != 0, flagParent)
	set(c.Coordination != "" && c.Coordination != c.Thread, flagCoordination)
	set(c.Branch != "" && c.Branch != MainBranch, flagBranch)
	set(c.Run != "", flagRun)
	set(c.Graph != "", flagGraph)
	set(c.Fingerprint != "", flagFingerprint)
	set(c.Node != "", flagNode)
	set(c.Agent != "", flagAgent)
	set(len(c.Next) > 0, flagNext)
	set(c.Source != nil, flagSource)
	set(len(c.Labels) > 0, flagLabels)
	set(c.By != "", flagBy)
	set(c.Error != "", flagError)
	set(!c.CreatedAt.IsZero(), flagCreated)
	set(c.Revision > 0, flagRevision)
	set(!own || uuid != c.Order, flagOrder)
	set(hasStory(c.Took, c.Attempts), flagStory)
	return flags
}

// Flags of the fields that seldom change between checkpoints. Their encodings are
// contiguous.
const flagsSteady = flagCoordination | flagBranch | flagRun | flagGraph | flagFingerprint | flagNode | flagAgent |
	flagNext | flagSource | flagLabels | flagBy | flagError

// checkpoint is a record's header of a checkpoint. Read, it finds out whether the id is its own
// order key.
func (rec *Record) checkpoint(f *fields) {
	flags := uint64(0)
	if f.Writing() {
		flags = checkpointFlags(rec.Checkpoint)
	} else {
		rec.Checkpoint = f.header()
	}
	if f.Number(&flags); flags >= flagsEnd {
		f.Fail("unknown flags %x", flags)
	}
	c := rec.Checkpoint
	key, isKey := f.id(&c.ID)
	canon.Code(&f.Fields, &c.Kind, kindCodes)
	canon.Code(&f.Fields, &c.Status, statusCodes)
	f.Number(&c.Step)
	f.Size(&c.Size)
	if flags&flagParent != 0 {
		f.id(&c.Parent)
		if f.Number(&c.ParentSeq); c.ParentSeq == 0 {
			f.Fail("parent without a sequence number")
		}
	}
	switch steady := flags & flagsSteady; {
	case f.shared == nil:
		c.steady(f, steady)
	case !f.sameSteady(c, steady):
		before := f.Rest()
		c.steady(f, steady)
		f.rememberSteady(c, steady, before)
	}
	if flags&flagCreated != 0 {
		f.Nanos(&c.CreatedAt)
	}
	if flags&flagRevision != 0 {
		if f.Number32(&c.Revision); c.Revision == 0 {
			f.Fail("revision 0 in its long form")
		}
	}
	if flags&flagOrder != 0 {
		f.Fixed(c.Order[:])
	}
	if flags&flagStory != 0 {
		if f.story(&c.Took, &c.Attempts); !f.Writing() && !hasStory(c.Took, c.Attempts) {
			f.Fail("an optional story is empty")
		}
	}
	switch {
	case f.Writing():
	case flags&flagOrder == 0:
		c.Order, rec.own = key, true
		if !isKey {
			f.Fail("a foreign id without an order key")
		}
	case isKey && key == c.Order:
		f.Fail("order key in its long form")
	}
}

// steady are the fields that flags name, of those that seldom change.
func (c *Header) steady(f *fields, flags uint64) {
	text := func(flag uint64, s *string) {
		if flags&flag == 0 || f.Err() != nil {
			return
		}
		if f.Text(s); *s == "" {
			f.Fail("an optional field is empty")
		}
	}
	text(flagCoordination, &c.Coordination)
	if text(flagBranch, &c.Branch); !f.Writing() {
		if c.Branch == MainBranch {
			f.Fail("branch main in its long form")
		}
		c.Branch = cmp.Or(c.Branch, MainBranch)
	}
	text(flagRun, &c.Run)
	text(flagGraph, &c.Graph)
	text(flagFingerprint, &c.Fingerprint)
	text(flagNode, &c.Node)
	text(flagAgent, &c.Agent)
	if flags&flagNext != 0 {
		if f.names(&c.Next); len(c.Next) == 0 {
			f.Fail("an optional list is empty")
		}
	}
	if flags&flagSource != 0 {
		source := made(f, &c.Source)
		f.Text(&source.Thread)
		f.id(&source.ID)
	}
	if flags&flagLabels != 0 {
		if f.TextMap(&c.Labels); c.Labels == nil {
			f.Fail("an optional map is empty")
		}
	}
	text(flagBy, &c.By)
	text(flagError, &c.Error)
}
