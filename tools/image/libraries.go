// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// program is an ELF file and the directory it will be in, which $ORIGIN in its
// search path means.
type program struct {
	origin  string
	content []byte
}

// resolver finds the shared libraries that programs need, as the dynamic loader
// would on this machine, without running anything.
type resolver struct {
	// directories are the loader's default ones. Debian's loader searches the
	// directory named after the machine, then the common ones.
	directories []string
	found       map[string][]byte
}

func newResolver() *resolver {
	return &resolver{
		directories: []string{
			"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
			"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
			"/lib64", "/usr/lib64", "/lib", "/usr/lib",
		},
		found: map[string][]byte{},
	}
}

// resolve returns the loaders and libraries, by the path at which the loader
// finds them. Files that are not ELF, and static programs, need none.
func (r *resolver) resolve(programs []program) (map[string][]byte, error) {
	for len(programs) > 0 {
		next := programs[0]
		more, err := r.needs(next)
		if err != nil {
			return nil, err
		}
		programs = append(programs[1:], more...)
	}
	return r.found, nil
}

// named returns libraries by their names, for the kind of machine that the first of
// the programs is for, or this one where none is.
func (r *resolver) named(names []string, programs []program) ([]program, error) {
	if len(names) == 0 {
		return nil, nil
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	var by *elf.File
	for _, content := range append(contents(programs), self) {
		if by, err = elf.NewFile(bytes.NewReader(content)); err == nil {
			break // the others are scripts, or data
		}
	}
	if err != nil {
		return nil, err
	}
	var out []program
	for _, name := range names {
		at, content, err := r.find(name, by, "")
		if err != nil {
			return nil, err
		}
		r.found[at] = content
		out = append(out, program{origin: filepath.Dir(at), content: content})
	}
	return out, nil
}

func contents(programs []program) [][]byte {
	var out [][]byte
	for _, p := range programs {
		out = append(out, p.content)
	}
	return out
}

// needs notes what one ELF file needs and returns what of it is new.
func (r *resolver) needs(p program) ([]program, error) {
	if !bytes.HasPrefix(p.content, []byte(elf.ELFMAG)) {
		return nil, nil // a script, or data
	}
	file, err := elf.NewFile(bytes.NewReader(p.content))
	if err != nil {
		return nil, err
	}
	var more []program
	if loader := interpreter(file); loader != "" {
		content, err := os.ReadFile(loader)
		if err != nil {
			return nil, fmt.Errorf("dynamic loader: %w", err)
		}
		r.found[loader] = content
	}
	names, err := file.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("read what libraries it needs: %w", err)
	}
	for _, name := range names {
		at, content, err := r.find(name, file, p.origin)
		if err != nil {
			return nil, err
		}
		if _, known := r.found[at]; !known {
			r.found[at] = content
			more = append(more, program{origin: filepath.Dir(at), content: content})
		}
	}
	return more, nil
}

func interpreter(file *elf.File) string {
	for _, segment := range file.Progs {
		if segment.Type != elf.PT_INTERP {
			continue
		}
		text := make([]byte, segment.Filesz)
		if _, err := segment.ReadAt(text, 0); err == nil {
			return strings.TrimRight(string(text), "\x00")
		}
	}
	return ""
}

// find looks for a library where the loader would: the file's own search path
// first. A library for another kind of machine is passed over, as the loader
// does.
func (r *resolver) find(name string, by *elf.File, origin string) (string, []byte, error) {
	var searched []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		values, err := by.DynString(tag)
		if err != nil {
			return "", nil, fmt.Errorf("read the search path: %w", err)
		}
		for _, value := range values {
			value = strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(value)
			searched = append(searched, strings.Split(value, ":")...)
		}
	}
	searched = append(searched, r.directories...)
	for _, dir := range searched {
		at := filepath.Join(dir, name)
		content, err := os.ReadFile(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		if sameMachine(content, by) {
			return at, content, nil
		}
	}
	return "", nil, fmt.Errorf("library %s is not in any of %v: install the package that has it", name, searched)
}

func sameMachine(content []byte, by *elf.File) bool {
	file, err := elf.NewFile(bytes.NewReader(content))
	return err == nil && file.Machine == by.Machine && file.Class == by.Class
}
