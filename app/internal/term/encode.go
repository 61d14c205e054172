package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/posthouse/posthouse/internal/base/text"
)

// A Format is how answers are written.
type Format string

// The formats. Those after Table are for programs, and have no hints.
const (
	Table     Format = "" // for people
	JSON      Format = "json"
	JSONLines Format = "jsonl" // each item of a list on a line of its own
	YAML      Format = "yaml"
)

// ParseFormat returns the format of a name; table is [Table].
func ParseFormat(name string) (Format, bool) {
	switch f := Format(name); f {
	case "table", Table:
		return Table, true
	case JSON, JSONLines, YAML:
		return f, true
	}
	return Table, false
}

// Structured reports whether answers are for programs.
func (t *Term) Structured() bool { return t.Format != Table }

// Encode prints v in the format of answers, as JSON if that is a table.
func (t *Term) Encode(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	switch t.Format {
	case JSONLines:
		return t.lines(data)
	case YAML:
		return t.yaml(data)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return err
	}
	return t.write(EscapeJSON(b.Bytes()))
}

// EncodeOne prints one of many values that come one after another: on a line, or as a document of
// YAML.
func (t *Term) EncodeOne(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if t.Format != YAML {
		return t.write(EscapeJSON(data))
	}
	if _, err := t.Out.Write([]byte("---\n")); err != nil {
		return err
	}
	return t.yaml(data)
}

func (t *Term) write(line []byte) error {
	_, err := t.Out.Write(append(line, '\n'))
	return err
}

// lines prints a list as a line for each of its items.
func (t *Term) lines(data []byte) error {
	items := []json.RawMessage{data}
	if bytes.HasPrefix(data, []byte("[")) {
		if err := json.Unmarshal(data, &items); err != nil {
			return err
		}
	}
	for _, item := range items {
		if err := t.write(EscapeJSON(item)); err != nil {
			return err
		}
	}
	return nil
}

// yaml prints a JSON document as YAML: members in their order, numbers as they are written.
func (t *Term) yaml(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	n, err := node(d, 0)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return err
	}
	if err := e.Close(); err != nil {
		return err
	}
	_, err = t.Out.Write(escapeYAML(b.Bytes()))
	return err
}

// maxIndented is how deep values are indented. Below that they stay on one line.
const maxIndented = 50

// node reads the next value of a JSON document, so many levels deep.
func node(d *json.Decoder, depth int) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		if v == '{' {
			n.Kind = yaml.MappingNode
		}
		for d.More() {
			of, err := node(d, depth+1) // a key, too
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, of)
		}
		if len(n.Content) == 0 || depth >= maxIndented {
			n.Style = yaml.FlowStyle
		}
		_, err := d.Token()
		return n, err
	case string:
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}
		if len(text.HiddenIn(v)) > 0 || taken.MatchString(v) { // only with double quotes there are escapes
			n.Style = yaml.DoubleQuotedStyle
		}
		return n, nil
	case json.Number:
		return number(string(v)), nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v)}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
}

var (
	taken    = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|<<|=)$`) // these mean something else to some readers
	whole    = regexp.MustCompile(`^-?\d+$`)
	exponent = regexp.MustCompile(`^-?\d+[eE]`)
)

// number returns a number of JSON as one of YAML, where an exponent needs a fraction before it.
func number(v string) *yaml.Node {
	tag := "!!float"
	switch {
	case whole.MatchString(v):
		tag = "!!int"
	case exponent.MatchString(v):
		i := bytes.IndexAny([]byte(v), "eE")
		v = v[:i] + ".0" + v[i:]
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: v}
}

// escapeYAML writes hidden characters as escapes. They stand in strings with double quotes only.
func escapeYAML(data []byte) []byte {
	out := make([]byte, 0, len(data)+16)
	s := string(data)
	for i := 0; i < len(s); {
		r, n, hidden := text.At(s, i)
		i += n
		switch {
		case !hidden:
			out = append(out, string(r)...)
		case r > 0xffff:
			out = fmt.Appendf(out, `\U%08x`, r)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
