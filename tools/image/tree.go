// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// entry is one entry of the image's file system.
type entry struct {
	typeflag byte
	mode     fs.FileMode // octal bits as in tar
	target   string      // of a link
	content  []byte
}

// tree is the image's file system: absolute path to entry.
type tree map[string]entry

// newTree gathers everything the specification names.
func newTree(s Spec, source string) (tree, error) {
	t := tree{}
	var programs []program
	for _, f := range s.Files {
		content, err := f.read(source)
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", f.Path, err)
		}
		mode, err := f.mode()
		if err != nil {
			return nil, err
		}
		if err := t.add(f.Path, entry{typeflag: tar.TypeReg, mode: mode, content: content}); err != nil {
			return nil, err
		}
		if f.Source != "" {
			programs = append(programs, program{origin: path.Dir(f.Path), content: content})
		}
	}
	for _, l := range s.Links {
		for _, name := range l.Names {
			if err := t.add(path.Join(l.Directory, name), entry{typeflag: tar.TypeSymlink, mode: 0o777, target: l.Target}); err != nil {
				return nil, err
			}
		}
	}
	for _, d := range s.Directories {
		mode, err := parseMode(d.Mode, 0o755)
		if err != nil {
			return nil, err
		}
		if err := t.add(d.Path, entry{typeflag: tar.TypeDir, mode: mode}); err != nil {
			return nil, err
		}
	}
	if s.WithLibraries || len(s.Libraries) > 0 {
		if err := t.addLibraries(programs, s.Libraries); err != nil {
			return nil, err
		}
	}
	return t, t.addParents()
}

func (f File) read(source string) ([]byte, error) {
	if f.Text != "" {
		return []byte(f.Text), nil
	}
	if filepath.IsAbs(f.Source) {
		return os.ReadFile(f.Source)
	}
	return os.ReadFile(filepath.Join(source, f.Source))
}

func (t tree) add(at string, e entry) error {
	if _, taken := t[at]; taken {
		return fmt.Errorf("path %s is in the image twice", at)
	}
	t[at] = e
	return nil
}

func (t tree) addLibraries(programs []program, more []string) error {
	r := newResolver()
	named, err := r.named(more, programs)
	if err != nil {
		return err
	}
	libraries, err := r.resolve(append(programs, named...))
	if err != nil {
		return err
	}
	for at, content := range libraries {
		if _, listed := t[at]; listed {
			continue // the specification brings its own
		}
		t[at] = entry{typeflag: tar.TypeReg, mode: 0o755, content: content}
	}
	return nil
}

// addParents adds the directories that entries are in.
func (t tree) addParents() error {
	for _, at := range slices.Collect(maps.Keys(t)) {
		for dir := path.Dir(at); dir != "/"; dir = path.Dir(dir) {
			e, there := t[dir]
			if there && e.typeflag != tar.TypeDir {
				return fmt.Errorf("%s is in %s, which is no directory", at, dir)
			}
			if !there {
				t[dir] = entry{typeflag: tar.TypeDir, mode: 0o755}
			}
		}
	}
	return nil
}

// tar returns the tree as a tar archive, in the order of paths: so parents come
// before what is in them.
func (t tree) tar() ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, at := range slices.Sorted(maps.Keys(t)) {
		e := t[at]
		name := at[1:]
		if e.typeflag == tar.TypeDir {
			name += "/"
		}
		header := &tar.Header{
			Typeflag: e.typeflag, Name: name, Linkname: e.target,
			Mode: int64(e.mode), Size: int64(len(e.content)), ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("archive %s: %w", at, err)
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, fmt.Errorf("archive %s: %w", at, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
