package topology

import (
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/internal/base/strictjson"
)

// CheckChanged refuses parts that somebody gives for a checkpoint's state if the type has
// no such part, or the value does not fit it. A part of an earlier version, which the
// checkpoint has, may be given.
func CheckChanged(schema *state.Schema, codec posthouse.Codec, c *posthouse.Checkpoint, changed posthouse.State) error {
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		f := schema.Part(name)
		if _, there := c.State[name]; f == nil && there {
			continue
		}
		if f == nil {
			var known []string
			for i := range schema.Fields {
				known = append(known, schema.Fields[i].Part)
			}
			return &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: name, Message: "is no part of the state; there is " + strings.Join(known, ", "),
				Hint: "give one of these parts",
			}
		}
		v := changed[name]
		if v.Codec == posthouse.JSON.Name() && (codec == nil || codec.Name() == v.Codec) {
			if path, reason := strictjson.Fit(v.Data, f.Type); reason != "" {
				if path != "" && !strings.HasPrefix(path, "[") {
					path = "." + path
				}
				return &posthouse.Error{Code: posthouse.CodeInvalid, Field: name + path, Message: reason, Hint: "the part is " + strictjson.Describe(f.Type)}
			}
			continue
		}
		if err := f.Fits(codec, v); err != nil {
			return &posthouse.Error{Code: posthouse.CodeInvalid, Field: name, Message: "does not fit the part", Hint: "give it as posthouse checkpoint show prints it", Err: err}
		}
	}
	return nil
}
