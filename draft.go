package posthouse

import (
	"time"
)

// A Draft is one commit: all of it becomes durable at once, or none.
type Draft struct {
	Thread string
	Branch string // "" is main
	Claim  *Claim // the run's lease; nil for a change made by hand

	// Head, if set, is what the branch's head must be, "" meaning that there is
	// no such branch. Otherwise the commit fails with [ErrConflict].
	Head *ID

	Checkpoint *Change // at most one
	Steps      []Step
	Gates      []Gate // opened with the checkpoint, which must be waiting
	Keep       []ID   // open gates of the branch that stay open, the others being cancelled by a new checkpoint; if one was decided meanwhile, a waiting checkpoint becomes ready

	revise  ID      // the checkpoint that this one is a new revision of
	inherit []*Gate // decided gates that a forked thread takes along
	step    uint64  // the count of steps that a forked thread begins with
}

// A Change is a new checkpoint, told as a change of its parent.
type Change struct {
	ID     ID   // "": a new one
	Parent ID   // "": the branch's head
	Root   bool // no parent, even if the branch has a head

	Kind         string // default [KindSave]
	Status       Status
	Coordination string // "": the parent's, or the thread
	Run          string
	Graph        string
	Fingerprint  string
	Node         string
	Agent        string
	By           string
	Error        string
	Next         []string
	Labels       map[string]string
	Source       *Source
	CreatedAt    time.Time // zero: now

	Parts    []Part            // what changed; parts not named are kept
	State    State             // or the whole state: parts not in it are dropped
	Metadata map[string]string // nil: the parent's
}

// A Part is a changed part of the state.
type Part struct {
	Name  string
	Codec string // "" is json
	Data  []byte // the value, or with Splice the new middle
	Drop  bool   // the part is gone

	// Splice keeps Prefix and Suffix bytes of the parent's value around Data: an
	// element appended to a JSON array of n bytes keeps n-1 and 1.
	Splice         bool
	Prefix, Suffix int
}

// A Step is a result to record: once, under task, name and occurrence.
type Step struct {
	Task       string
	Name       string
	Occurrence uint32
	Effect     Effect
	Value      Value
}

// A Committed says what a commit made.
type Committed struct {
	Seq        uint64
	Hash       Hash
	Checkpoint *Header // nil if there was none
	Gates      []Gate  // with their ids
}

const (
	maxText   = 4000 // bytes of a reason or an error
	maxLabels = 16
	maxNext   = 10000
)

func (d *Draft) validate() error {
	if d.Branch == "" {
		d.Branch = MainBranch
	}
	if err := validateName("branch", d.Branch); err != nil {
		return err
	}
	if d.Checkpoint == nil && len(d.Steps) == 0 {
		return invalid("draft", "holds neither a checkpoint nor a step")
	}
	if len(d.Gates) > 0 && (d.Checkpoint == nil || d.Checkpoint.Status != StatusWaiting) {
		return invalid("gates", "need a checkpoint of status waiting in the same commit")
	}
	if len(d.Gates)+len(d.Steps)+len(d.Keep) > maxRecords-8 {
		return invalid("draft", "holds more than %d records", maxRecords-8)
	}
	for i := range d.Steps {
		s := &d.Steps[i]
		if s.Name == "" || len(s.Name) > MaxID || len(s.Task) > 1000 {
			return invalid("step", "name %.40q must be 1 to %d bytes, its task at most 1000", s.Name, MaxID)
		}
		if s.Value.Codec == "" {
			s.Value.Codec = "json"
		}
	}
	if d.Checkpoint != nil {
		return d.Checkpoint.validate()
	}
	return nil
}

func (c *Change) validate() error {
	for _, id := range []struct {
		field string
		id    ID
	}{{"id", c.ID}, {"parent", c.Parent}} {
		if id.id != "" {
			if err := validateName(id.field, string(id.id)); err != nil {
				return err
			}
		}
	}
	if c.Coordination != "" {
		if err := validateName("coordination", c.Coordination); err != nil {
			return err
		}
	}
	for _, f := range []struct{ field, s string }{
		{"run", c.Run}, {"graph", c.Graph}, {"fingerprint", c.Fingerprint}, {"node", c.Node}, {"agent", c.Agent}, {"by", c.By},
	} {
		if len(f.s) > MaxID || !validText(f.s) {
			return invalid(f.field, "must be at most %d bytes of text without control characters", MaxID)
		}
	}
	if c.Kind == "" {
		c.Kind = KindSave
	}
	if codeOf(kindCodes, c.Kind) >= uint64(len(kindCodes)) {
		return invalid("kind", "%q is not known", c.Kind)
	}
	if codeOf(statusCodes, c.Status) >= uint64(len(statusCodes)) {
		return invalid("status", "%q is not known", c.Status)
	}
	if y := c.CreatedAt.Year(); !c.CreatedAt.IsZero() && (y < 1700 || y > 2200) {
		return invalid("createdAt", "is in the year %d; allowed are 1700 to 2200", y)
	}
	if len(c.Labels) > maxLabels || len(c.Next) > maxNext {
		return invalid("labels", "are more than %d, or next nodes more than %d", maxLabels, maxNext)
	}
	for k, v := range c.Labels {
		if k == "" || len(k) > MaxID || len(v) > MaxID || !validText(k) || !validText(v) {
			return invalid("labels", "%.40q: names and values must be at most %d bytes of text", k, MaxID)
		}
	}
	if len(c.Error) > maxText {
		c.Error = cutText(c.Error, maxText)
	}
	if c.State != nil && c.Parts != nil {
		return invalid("state", "is given whole and as changed parts")
	}
	return nil
}
