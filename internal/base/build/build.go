// Package build says what a binary was built from.
package build

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// An Info is what Go recorded in the binary.
type Info struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the repository
	Modified bool   `json:"modified,omitempty"` // the work tree had changes
	Time     string `json:"time,omitempty"`     // of the revision, RFC 3339
	Go       string `json:"go"`                 // the version of Go
	Platform string `json:"platform"`
}

// Read returns what is known of this binary. A version that the binary says of itself goes
// before the one that Go recorded.
func Read(version string) Info {
	v := Info{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if bi, ok := debug.ReadBuildInfo(); ok {
		v.Version = cmp.Or(v.Version, bi.Main.Version)
		for _, s := range bi.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Revision = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			case "vcs.time":
				v.Time = s.Value
			}
		}
	}
	v.Version = cmp.Or(v.Version, "(devel)")
	return v
}
