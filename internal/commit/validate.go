package commit

import (
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/story"
)

func validateChange(c *posthouse.Change) error {
	if err := validateNames(c); err != nil {
		return err
	}
	if c.Skipped < 0 {
		return posthouse.Invalid("skipped", "is negative")
	}
	if c.Kind == "" {
		c.Kind = posthouse.KindSave
	}
	if c.MidStep && (c.Kind != posthouse.KindUpdate || c.Skipped > 0 || c.Root) {
		return posthouse.Invalid("sameStep", "is for an update of a parent, without steps between them")
	}
	if !posthouse.KnownKind(c.Kind) {
		return posthouse.Invalid("kind", "%q is not known", c.Kind)
	}
	if !posthouse.KnownStatus(c.Status) {
		return posthouse.Invalid("status", "%q is not known", c.Status)
	}
	if y := c.CreatedAt.Year(); !c.CreatedAt.IsZero() && (y < 1700 || y > 2200) {
		return posthouse.Invalid("createdAt", "is in the year %d; allowed are 1700 to 2200", y)
	}
	if len(c.Labels) > posthouse.MaxLabels {
		return posthouse.Invalid("labels", "are more than %d", posthouse.MaxLabels)
	}
	for k, v := range c.Labels {
		if err := validateLabel(k, v); err != nil {
			return err
		}
	}
	if len(c.Next) > posthouse.MaxNext {
		return posthouse.Invalid("next", "are more than %d nodes", posthouse.MaxNext)
	}
	for _, n := range c.Next {
		if len(n) > posthouse.MaxTask || !text.Valid(n) {
			return posthouse.Invalid("next", "node %.40q must be at most %d bytes of text without control characters", n, posthouse.MaxTask)
		}
	}
	if _, err := story.Encode(&c.Story); err != nil {
		return err
	}
	c.Error = strings.ToValidUTF8(c.Error, "\ufffd")
	if len(c.Error) > posthouse.MaxText {
		c.Error = text.Cut(c.Error, posthouse.MaxText)
	}
	return validateParts(c)
}

// validateLabel checks a label. An empty value is allowed: queries compare with it.
func validateLabel(name, value string) error {
	if err := posthouse.ValidateName("labels", name); err != nil {
		return err
	}
	if value == "" {
		return nil
	}
	return posthouse.ValidateName("labels", value)
}

func validateNames(c *posthouse.Change) error {
	for _, f := range []struct{ field, s string }{{"id", string(c.ID)}, {"parent", string(c.Parent)}} {
		if f.s != "" {
			if err := posthouse.ValidateID(f.field, f.s); err != nil {
				return err
			}
		}
	}
	for _, f := range []struct{ field, s string }{{"coordination", c.Coordination}, {"graph", c.Graph}, {"agent", c.Agent}} {
		if f.s != "" {
			if err := posthouse.ValidateName(f.field, f.s); err != nil {
				return err
			}
		}
	}
	if len(c.Node) > posthouse.MaxNode || !text.Valid(c.Node) {
		return posthouse.Invalid("node", "must be at most %d bytes of text without control characters", posthouse.MaxNode)
	}
	if s := c.Source; s != nil && (posthouse.ValidateName("", s.Thread) != nil || s.ID.Validate() != nil) {
		return posthouse.Invalid("source", "must name a thread and a checkpoint")
	}
	for _, f := range []struct{ field, s string }{
		{"run", c.Run}, {"fingerprint", c.Fingerprint}, {"by", c.By},
	} {
		if err := posthouse.ValidateText(f.field, f.s); err != nil {
			return err
		}
	}
	return nil
}

// validateParts refuses what the log could not tell apart: two changes of one part, or
// a state given twice.
func validateParts(c *posthouse.Change) error {
	if c.State != nil && c.Parts != nil {
		return posthouse.Invalid("state", "is given whole and as changed parts")
	}
	for _, parts := range [][]posthouse.Part{c.Parts, c.Program} {
		for i := range parts {
			p := &parts[i]
			if p.Codec != "" {
				if err := posthouse.ValidateCodec(p.Codec, p.Name); err != nil {
					return err
				}
			}
			if slices.ContainsFunc(parts[:i], func(q posthouse.Part) bool { return q.Name == p.Name }) {
				return posthouse.Invalid("part "+p.Name, "is changed twice in one checkpoint")
			}
		}
	}
	return nil
}
