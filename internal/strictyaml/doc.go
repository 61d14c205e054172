// Package strictyaml reads files of settings in YAML. A line that sets nothing is an error that names
// it.
//
//	var o Options
//	err := strictyaml.Decode(data, "posthouse.yaml", &o)
//
// A key that the type does not have is refused, with the nearest one as a suggestion. So are a key
// twice, a second document, aliases, and more than [MaxSize].
package strictyaml
