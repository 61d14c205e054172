package api

import (
	_ "embed"
	"encoding/json"
	"reflect"
	"sync"
)

// Comments are what the sources say of the types of the API: comments of fields, and the constants of
// types that are texts. Reflection has neither, so a test of package server reads them from the sources
// into comments.json, and fails if they have changed since.
type Comments struct {
	Fields map[string]map[string]string `json:"fields"` // by type and name in Go
	Values map[string][]string          `json:"values"` // by type
}

//go:embed comments.json
var commentsFile []byte

var readComments = sync.OnceValues(func() (c *Comments, err error) {
	c = new(Comments)
	return c, json.Unmarshal(commentsFile, c)
})

// TypeName is the name of a type in [Comments].
func TypeName(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

// help returns what the sources say of a field.
func (c *Comments) help(owner reflect.Type, field string) string {
	return c.Fields[TypeName(owner)][field]
}
