package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/posthouse/posthouse"
)

// A ConfigFile is what a configuration file says. The zero value says nothing.
type ConfigFile struct {
	Path     string
	Contexts []Context // in the order of the file

	values map[string]value
}

// A value is what a file says of one setting.
type value struct {
	texts []string
	kind  yaml.Kind
	line  int
}

// A Context is a server, and the token for it.
type Context struct {
	Name      string `json:"name"`
	Server    string `json:"server"`
	TokenFile string `json:"tokenFile,omitempty"`

	line int
}

// maxConfig is the most that a configuration file may have, in bytes.
const maxConfig = 1 << 20

// DefaultConfig returns the path of the configuration file where no other is named: posthouse/config.yaml
// below XDG_CONFIG_HOME, by default ~/.config. Without a home it is empty.
func DefaultConfig(getenv func(string) string) string {
	if base := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "posthouse", "config.yaml")
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "posthouse", "config.yaml")
	}
	return ""
}

// LoadConfig reads a configuration file, of the settings that are known. A file that is not there is
// [posthouse.ErrNotFound], one that does not fit [posthouse.ErrInvalid].
func LoadConfig(path string, known []string) (*ConfigFile, error) {
	data, err := readConfig(path)
	if err != nil {
		return nil, err
	}
	return ParseConfig(path, data, known)
}

func readConfig(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		e := &posthouse.Error{Code: posthouse.CodeInvalid, Field: "config", Message: path + " cannot be read", Err: err}
		if errors.Is(err, fs.ErrNotExist) {
			e.Code, e.Hint = posthouse.CodeNotFound, "name a file that is there with --config"
		}
		return nil, e
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	switch {
	case err != nil:
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "config", Message: path + " cannot be read", Err: err}
	case len(data) > maxConfig:
		return nil, &posthouse.Error{Code: posthouse.CodeTooLarge, Field: "config", Message: path + " has more than 1 MiB"}
	}
	return data, nil
}

// ParseConfig is [LoadConfig] of a file that was read.
func ParseConfig(path string, data []byte, known []string) (*ConfigFile, error) {
	c := &ConfigFile{Path: path, values: map[string]value{}}
	root, err := document(path, data)
	if err != nil || root == nil {
		return c, err
	}
	known = append([]string{contextsKey}, known...)
	err = c.members(root, known, func(key, of *yaml.Node) error {
		if key.Value == contextsKey {
			return c.contexts(of)
		}
		v, err := c.value(key, of)
		c.values[key.Value] = v
		return err
	})
	return c, err
}

// contextsKey is the member that is no flag.
const contextsKey = "contexts"

// document returns the mapping that a file holds; nil if it is empty.
func document(path string, data []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		var more yaml.Node
		if d.Decode(&more) != io.EOF {
			err = errors.New("it has more than one document")
		}
	}
	if err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "config", Message: path + " is no YAML", Err: err, Hint: "write it as in addr: 0.0.0.0:8443"}
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	return root, nil
}

// fault says where a file does not fit.
func (c *ConfigFile) fault(at *yaml.Node, hint, format string, args ...any) error {
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "config", Message: c.at(at.Line) + ": " + fmt.Sprintf(format, args...), Hint: hint}
}

func (c *ConfigFile) at(line int) string { return fmt.Sprintf("%s:%d", c.Path, line) }

// members calls visit with each member of a mapping. A name that is not known, or is there twice, is
// refused.
func (c *ConfigFile) members(n *yaml.Node, known []string, visit func(key, of *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return c.fault(n, "write it as in addr: 0.0.0.0:8443", "is no list of names with values")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, of := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			return c.fault(key, "write it as in addr: 0.0.0.0:8443", "a name is no text")
		case known != nil && !slices.Contains(known, key.Value):
			hint := "posthouse config show lists the settings"
			if like := Nearest(key.Value, known); like != "" {
				hint = "did you mean " + like + "? " + hint
			}
			return c.fault(key, hint, "%.60q is no setting", key.Value)
		case seen[key.Value]:
			return c.fault(key, "leave one of them out", "%.60q is there twice", key.Value)
		}
		seen[key.Value] = true
		if err := visit(key, of); err != nil {
			return err
		}
	}
	return nil
}

// value reads what a file says of a setting: a text, a list of texts, or names with texts.
func (c *ConfigFile) value(key, n *yaml.Node) (v value, err error) {
	v = value{kind: n.Kind, line: key.Line}
	switch n.Kind {
	case yaml.ScalarNode:
		text, err := c.text(key, n)
		v.texts = []string{text}
		return v, err
	case yaml.SequenceNode:
		for _, item := range n.Content {
			text, err := c.text(key, item)
			if err != nil {
				return v, err
			}
			v.texts = append(v.texts, text)
		}
		return v, nil
	case yaml.MappingNode:
		err := c.members(n, nil, func(name, of *yaml.Node) error {
			text, err := c.text(key, of)
			v.texts = append(v.texts, name.Value+"="+text)
			return err
		})
		return v, err
	}
	return v, c.fault(n, "write the value itself", "%s is an alias", key.Value)
}

func (c *ConfigFile) text(key, n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" {
		return "", c.fault(n, "give it a value, or leave it out", "%s has no value that is a text or a number", key.Value)
	}
	return n.Value, nil
}

// contextName matches the names of contexts.
var contextName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (c *ConfigFile) contexts(n *yaml.Node) error {
	return c.members(n, nil, func(key, of *yaml.Node) error {
		if !contextName.MatchString(key.Value) {
			return c.fault(key, "up to 64 letters, digits and . _ -", "%.60q is no name of a context", key.Value)
		}
		x := Context{Name: key.Value, line: key.Line}
		err := c.members(of, []string{"server", "token-file"}, func(name, of *yaml.Node) (err error) {
			text, err := c.text(name, of)
			if name.Value == "server" {
				x.Server = text
			} else {
				x.TokenFile = text
			}
			return err
		})
		if err == nil && x.Server == "" {
			err = c.fault(key, "as in server: https://posthouse.example.com", "context %s has no server", key.Value)
		}
		c.Contexts = append(c.Contexts, x)
		return err
	})
}

// Context returns a context by its name. [posthouse.ErrNotFound] names those there are.
func (c *ConfigFile) Context(name string) (*Context, error) {
	names := []string{}
	for i := range c.Contexts {
		if c.Contexts[i].Name == name {
			return &c.Contexts[i], nil
		}
		names = append(names, c.Contexts[i].Name)
	}
	hint := "add one: posthouse context add " + name + " --server URL"
	if len(names) > 0 {
		hint = "there is " + strings.Join(names, ", ")
	}
	return nil, &posthouse.Error{Code: posthouse.CodeNotFound, Message: fmt.Sprintf("there is no context %.60q", name), Hint: hint}
}

// apply sets a flag to what the file says of it.
func (c *ConfigFile) apply(flags *pflag.FlagSet, f *pflag.Flag, v *value) error {
	s := &Setting{Origin: Config, From: c.at(v.line)}
	list, isList := f.Value.(pflag.SliceValue)
	isMap := strings.HasPrefix(f.Value.Type(), "stringTo")
	switch {
	case v.kind == yaml.MappingNode && !isMap, v.kind == yaml.SequenceNode && !isList:
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "config", Message: s.From + ": " + f.Name + " takes one value", Hint: "see: posthouse serve --help"}
	case v.kind == yaml.SequenceNode:
		if err := list.Replace(v.texts); err != nil {
			return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "config", Message: s.From + " does not fit --" + f.Name, Err: err}
		}
		f.Changed = true
		return flags.SetAnnotation(f.Name, fromKey, []string{string(s.Origin), s.From})
	}
	for _, text := range v.texts {
		if err := set(flags, f, text, s); err != nil {
			return err
		}
	}
	return nil
}

// Choose sets server and token file to those of a context, where nothing that counts more has set the
// server. Then it returns the context, else nil. The context's server gets the token file of the context
// or of the command line, and no other: a token that was kept for another server is not sent to it.
func (c *ConfigFile) Choose(flags *pflag.FlagSet, name string) (*Context, error) {
	x, err := c.Context(name)
	if err != nil {
		return nil, err
	}
	stronger := []Origin{Flag}
	if Of(flags.Lookup("context")).Origin != Flag {
		stronger = []Origin{Flag, Variable, File}
	}
	server, file := flags.Lookup("server"), flags.Lookup("token-file")
	if slices.Contains(stronger, Of(server).Origin) {
		return nil, nil
	}
	s := &Setting{Origin: Config, From: "context " + x.Name + ", " + c.at(x.line)}
	if err := set(flags, server, x.Server, s); err != nil {
		return nil, err
	}
	if Of(file).Origin == Flag {
		return x, nil
	}
	return x, set(flags, file, x.TokenFile, s)
}
