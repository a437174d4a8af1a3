// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"sigs.k8s.io/yaml"
)

// Spec is what an image shall be.
type Spec struct {
	// Reference is the name and tag: cotenant.dev/plugin:dev.
	Reference string `json:"reference"`
	Files     []File `json:"files,omitempty"`
	// WithLibraries adds the dynamic loader and the shared libraries that the
	// ELF programs among the files need, from the machine this runs on.
	WithLibraries bool `json:"withLibraries,omitempty"`
	// Libraries are more of them, by name: those of programs that the image runs and
	// that are not in it.
	Libraries   []string    `json:"libraries,omitempty"`
	Directories []Directory `json:"directories,omitempty"`
	Links       []Link      `json:"links,omitempty"`

	Entrypoint []string          `json:"entrypoint,omitempty"`
	Command    []string          `json:"command,omitempty"`
	User       string            `json:"user,omitempty"` // UID or UID:GID; empty for root
	Env        map[string]string `json:"env,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
}

// File is one file of the image.
type File struct {
	Path string `json:"path"`
	// Source is the file on the machine, relative to --source; Text is the
	// content itself. A file has one of them.
	Source string `json:"source,omitempty"`
	Text   string `json:"text,omitempty"`
	Mode   string `json:"mode,omitempty"` // octal; default 0755 with a source, 0644 with a text
}

// Directory is a directory that no file needs.
type Directory struct {
	Path string `json:"path"`
	Mode string `json:"mode,omitempty"` // octal; default 0755
}

// Link makes symbolic links with the given names, in a directory, to one target.
type Link struct {
	Directory string   `json:"directory"`
	Target    string   `json:"target"`
	Names     []string `json:"names"`
}

// parseSpec reads the YAML and refuses what it does not know.
func parseSpec(text []byte) (Spec, error) {
	var s Spec
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return Spec{}, err
	}
	return s, s.validate()
}

func (s Spec) validate() error {
	if s.Reference == "" {
		return fmt.Errorf("reference: say the image's name and tag")
	}
	for _, f := range s.Files {
		if (f.Source == "") == (f.Text == "") {
			return fmt.Errorf("file %q: give it either a source or a text", f.Path)
		}
		if _, err := f.mode(); err != nil {
			return fmt.Errorf("file %q: %w", f.Path, err)
		}
	}
	for _, d := range s.Directories {
		if _, err := parseMode(d.Mode, 0o755); err != nil {
			return fmt.Errorf("directory %q: %w", d.Path, err)
		}
	}
	for _, p := range s.paths() {
		if !path.IsAbs(p) || path.Clean(p) != p {
			return fmt.Errorf("path %q: write it from the root, without dots and double or trailing slashes", p)
		}
	}
	return nil
}

// paths returns every path that the specification names.
func (s Spec) paths() []string {
	var paths []string
	for _, f := range s.Files {
		paths = append(paths, f.Path)
	}
	for _, d := range s.Directories {
		paths = append(paths, d.Path)
	}
	for _, l := range s.Links {
		paths = append(paths, l.Directory)
	}
	return paths
}

func (f File) mode() (fs.FileMode, error) {
	if f.Text != "" {
		return parseMode(f.Mode, 0o644)
	}
	return parseMode(f.Mode, 0o755)
}

// parseMode reads octal permissions, with the bits for set-uid, set-gid and
// sticky as chmod(1) writes them.
func parseMode(text string, absent fs.FileMode) (fs.FileMode, error) {
	if text == "" {
		return absent, nil
	}
	n, err := strconv.ParseUint(text, 8, 12)
	if err != nil {
		return 0, fmt.Errorf("mode %q: write it in octal, in quotes: \"0755\"", text)
	}
	return fs.FileMode(n), nil
}
