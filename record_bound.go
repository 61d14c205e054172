package posthouse

// What entries of format [entryBound] say beyond those before: what a gate's
// answer is bound to, and what licensed a step.

// bound reports whether the record needs that format.
func (rec *Record) bound() bool {
	switch {
	case rec.Step != nil:
		return rec.Step.Grant != "" || rec.Step.Loose
	case rec.Gate != nil:
		return !rec.Gate.Content.IsZero() || rec.Gate.Supersedes != ""
	case rec.Checkpoint != nil:
		return rec.Checkpoint.Kind == KindAnew
	}
	return false
}

func (g *GateInfo) appendBound(b []byte) []byte {
	b = appendBool(b, !g.Content.IsZero())
	if !g.Content.IsZero() {
		b = append(b, g.Content[:]...)
	}
	return appendOptionalGateID(b, g.Supersedes)
}

func (g *GateInfo) readBound(r *decoder) {
	if readBool(r) {
		copy(g.Content[:], r.Raw(len(g.Content)))
		if r.Err() == nil && g.Content.IsZero() {
			r.Fail("no digest in its long form")
		}
	}
	g.Supersedes = readOptionalGateID(r)
}

// appendOptionalGateID is appendGateID for one that may not be there.
func appendOptionalGateID(b []byte, id ID) []byte {
	b = appendBool(b, id != "")
	if id == "" {
		return b
	}
	return appendGateID(b, id)
}

func readOptionalGateID(r *decoder) ID {
	if !readBool(r) {
		return ""
	}
	id := readGateID(r)
	if r.Err() == nil && id == "" {
		r.Fail("no gate in its long form")
	}
	return id
}
