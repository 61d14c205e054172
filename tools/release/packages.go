package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // is found by its name
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // is found by its name
)

// packages writes a Debian and an RPM package: the binary, the unit with its user and settings,
// manual pages and completions. The server is not started by an installation.
func (r *release) packages(machine, binary string, extras []file) error {
	contents, err := r.installed(binary, extras)
	if err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		p, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(r.about(machine, contents))
		// Versions before their time have a ~, which GitHub's names of files do not.
		file := strings.ReplaceAll(p.ConventionalFileName(info), "~", "-")
		if err := r.create(file, func(w io.Writer) error { return p.Package(info, w) }); err != nil {
			return err
		}
	}
	return nil
}

// about says what a package is. Its version is ordered as packages order them: one that is
// released before its time comes before the release.
func (r *release) about(machine string, contents files.Contents) *nfpm.Info {
	script := func(s string) string { return filepath.Join(r.Root, "deploy/packages", s) }
	return &nfpm.Info{
		Name: name, Arch: machine, Platform: "linux", Version: r.Version, MTime: r.when, DisableGlobbing: true,
		Section: "net", Priority: "optional", License: "Apache-2.0", Homepage: "https://github.com/posthouse/posthouse",
		Maintainer: "Posthouse maintainers <posthouse@users.noreply.github.com>", Vendor: "Posthouse",
		Description: "Durable checkpoints and approvals for agent workflows\nA server with a store of its own, or over Postgres, Redis, NATS or S3, and the command line.",
		Overridables: nfpm.Overridables{
			Contents:   contents,
			Recommends: []string{"ca-certificates"},
			Scripts:    nfpm.Scripts{PostInstall: script("postinstall.sh"), PreRemove: script("preremove.sh"), PostRemove: script("postremove.sh")},
			RPM:        nfpm.RPM{BuildHost: "localhost", Summary: "Durable checkpoints and approvals for agent workflows"},
			Deb:        nfpm.Deb{Compression: "gzip"},
		},
	}
}

// installed lists the files of a package, with where they are installed.
func (r *release) installed(binary string, extras []file) (all files.Contents, err error) {
	add := func(from, to, kind string, mode os.FileMode) {
		all = append(all, &files.Content{Source: from, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.when, Owner: "root", Group: "root"}})
	}
	add(binary, "/usr/bin/"+name, "", 0o755)
	units := filepath.Join(r.Root, "deploy/systemd")
	add(filepath.Join(units, name+".service"), "/usr/lib/systemd/system/"+name+".service", "", 0o644)
	add(filepath.Join(units, name+".sysusers"), "/usr/lib/sysusers.d/"+name+".conf", "", 0o644)
	add(filepath.Join(units, name+".env"), "/etc/"+name+"/"+name+".env", files.TypeConfigNoReplace, 0o640)
	add(filepath.Join(r.Root, "LICENSE"), "/usr/share/doc/"+name+"/copyright", "", 0o644)
	for _, f := range extras {
		if f.To == licences {
			add(f.From, "/usr/share/doc/"+name+"/"+licences, "", 0o644)
		}
		if page, ok := strings.CutPrefix(f.To, "man/man1/"); ok {
			packed, err := r.gzip(f.From)
			if err != nil {
				return nil, err
			}
			add(packed, "/usr/share/man/man1/"+page+".gz", "", 0o644)
		}
		for _, c := range completions {
			if path.Base(f.To) == c.file && c.installed != "" {
				add(f.From, c.installed, "", 0o644)
			}
		}
	}
	return all, nil
}

// gzip packs a file beside itself, without a name and a time.
func (r *release) gzip(from string) (string, error) {
	data, err := os.ReadFile(from)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := z.Write(data); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return from + ".gz", os.WriteFile(from+".gz", b.Bytes(), 0o644)
}
