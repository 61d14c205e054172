package settings

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secretfile"
)

// AddContext writes a context into a configuration file, which is made if it is not there. All else in it
// stays as it is, comments as well. A context of that name is [posthouse.ErrExists].
func AddContext(path string, known []string, x Context) error {
	if !contextName.MatchString(x.Name) {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "NAME", Message: fmt.Sprintf("%.60q is no name of a context", x.Name), Hint: "up to 64 letters, digits and . _ -"}
	}
	return change(path, known, func(c *ConfigFile, root *yaml.Node) error {
		if _, err := c.Context(x.Name); err == nil {
			return &posthouse.Error{Code: posthouse.CodeExists, Message: "there is a context " + x.Name, Hint: "remove it first: posthouse context remove " + x.Name}
		}
		of := &yaml.Node{Kind: yaml.MappingNode}
		put(of, "server", text(x.Server))
		if x.TokenFile != "" {
			put(of, "token-file", text(x.TokenFile))
		}
		all := member(root, contextsKey)
		if all == nil || all.Kind != yaml.MappingNode {
			all = &yaml.Node{Kind: yaml.MappingNode}
			put(root, contextsKey, all)
		}
		all.Style = 0
		put(all, x.Name, of)
		return nil
	})
}

// UseContext writes into a configuration file which context counts where no other is named.
func UseContext(path string, known []string, name string) error {
	return change(path, known, func(c *ConfigFile, root *yaml.Node) error {
		_, err := c.Context(name)
		put(root, "context", text(name))
		return err
	})
}

// RemoveContext takes a context out of a configuration file. After that of the context in use no context is in use.
func RemoveContext(path string, known []string, name string) error {
	return change(path, known, func(c *ConfigFile, root *yaml.Node) error {
		if _, err := c.Context(name); err != nil {
			return err
		}
		all := member(root, contextsKey)
		drop(all, name)
		if len(all.Content) == 0 {
			drop(root, contextsKey)
		}
		if used := member(root, "context"); used != nil && used.Value == name {
			drop(root, "context")
		}
		return nil
	})
}

// change reads a file, changes its document, and writes it whole.
func change(path string, known []string, do func(c *ConfigFile, root *yaml.Node) error) error {
	if path == "" {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "config", Message: "has no default: neither XDG_CONFIG_HOME nor HOME is set", Hint: "name a file with --config"}
	}
	data, err := readConfig(path)
	if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
		return err
	}
	c, err := ParseConfig(path, data, known)
	if err != nil {
		return err
	}
	doc := yaml.Node{Kind: yaml.DocumentNode}
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return err // it was read before
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		doc.Content = []*yaml.Node{{Kind: yaml.MappingNode}}
	}
	if err := do(c, doc.Content[0]); err != nil {
		return err
	}
	var out bytes.Buffer
	if onlyComments.Match(data) { // they belong to no node
		out.Write(bytes.TrimRight(data, "\n"))
		out.WriteByte('\n')
	}
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(&doc), e.Close()); err != nil {
		return err
	}
	if len(doc.Content[0].Content) == 0 {
		out.Reset() // {} would be all
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "config", Message: path + " cannot be written", Err: err}
	}
	return secretfile.Replace(path, out.Bytes(), 0o600)
}

// onlyComments matches a file with comments and nothing else.
var onlyComments = regexp.MustCompile(`^(\s*#[^\n]*(\n|$))+\s*$`)

func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

// member returns the value of a name in a mapping, or nil.
func member(m *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return m.Content[i+1]
		}
	}
	return nil
}

// put sets the value of a name.
func put(m *yaml.Node, name string, v *yaml.Node) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			m.Content[i+1] = v
			return
		}
	}
	m.Content = append(m.Content, text(name), v)
}

func drop(m *yaml.Node, name string) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			m.Content = append(m.Content[:i:i], m.Content[i+2:]...)
			return
		}
	}
}
