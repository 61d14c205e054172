package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// bill writes the bill of materials of a binary, by what Go recorded in it: modules with their
// versions and sums, and the version of Go. Nothing is listed that is not linked.
func (r *release) bill(binary, file string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = serial(sum)
	own := component(&info.Main, r.Version)
	own.Type = cyclonedx.ComponentTypeApplication
	own.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sum)}}
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.when.Format(time.RFC3339), Component: &own, Properties: settings(info)}
	language := cyclonedx.Component{
		BOMRef: "pkg:golang/std@" + info.GoVersion, Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion,
		PackageURL: "pkg:golang/std@" + info.GoVersion,
	}
	components, refs := []cyclonedx.Component{language}, []string{language.BOMRef}
	for _, m := range info.Deps {
		version := ""
		if m.Replace != nil && strings.HasPrefix(m.Replace.Path, ".") { // a module of this checkout, which the tag is of, too
			m.Replace, version = nil, r.Version
		}
		c := component(m, version)
		components, refs = append(components, c), append(refs, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: own.BOMRef, Dependencies: &refs}}
	return r.create(file, func(w io.Writer) error {
		return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}

// serial is a UUID of version 8, which is ours to make, from the sum of the binary.
func serial(sum [sha256.Size]byte) string {
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// component is a module, in the version that was linked. The main module has that of the tag.
func component(m *debug.Module, version string) cyclonedx.Component {
	if m.Replace != nil {
		m = m.Replace
	}
	if version == "" {
		version = m.Version
	}
	url := "pkg:golang/" + m.Path + "@" + version
	c := cyclonedx.Component{BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: version, PackageURL: url}
	if m.Sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "golang:sum", Value: m.Sum}}
	}
	return c
}

// settings are the flags and the revision that the binary was built with.
func settings(info *buildinfo.BuildInfo) *[]cyclonedx.Property {
	var all []cyclonedx.Property
	for _, s := range info.Settings {
		all = append(all, cyclonedx.Property{Name: "golang:build:" + s.Key, Value: s.Value})
	}
	return &all
}
