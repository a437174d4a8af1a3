// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package fsroot

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Stamped is a tree with its hash, which takes longer to find than to keep.
type Stamped struct {
	Tree
	Stamp string
}

// Stamp finds the hash of t.
func (t Tree) Stamp() Stamped { return Stamped{t, t.Hash()} }

// Advance makes p.Root, which was rendered from was, equal to now. It compares
// the two trees and not the files: of what they have in common it only sees to
// it that it is there. Where Root is not rendered from was it is a Sync.
func Advance(p Paths, was, now Stamped) error {
	r := readRecord(p.Record)
	if r.Tree == "" || r.Tree != was.Stamp || renewed(was.Tree, now.Tree) {
		return Sync(p, now.Tree)
	}
	// From here until the end Root is rendered from neither: who comes after a
	// kill compares everything.
	if err := writeRecord(p, record{Fresh: r.Fresh}); err != nil {
		return err
	}
	if err := withdraw(p.Root, was.Tree, now.Tree); err != nil {
		return err
	}
	for _, name := range now.paths() {
		at := filepath.Join(p.Root, name)
		if now.Tree[name] == was.Tree[name] && there(at, now.Tree[name].kind) {
			continue
		}
		if err := place(p.Temp, at, now.entry(p.Root, name)); err != nil {
			return fmt.Errorf("rendering %s: %w", name, err)
		}
	}
	return writeRecord(p, record{Tree: now.Stamp, Fresh: r.Fresh})
}

// renewed reports whether a directory of now is a fresh one.
func renewed(was, now Tree) bool {
	for name, e := range now {
		if e.incarnation != was[name].incarnation {
			return true
		}
	}
	return false
}

// withdraw removes what now has not any more, or as another kind of thing,
// deepest first.
func withdraw(root string, was, now Tree) error {
	for _, name := range slices.Backward(was.paths()) {
		if e, ok := now[name]; ok && e.kind == was[name].kind {
			continue
		}
		if err := remove(filepath.Join(root, name)); err != nil {
			return err
		}
	}
	return nil
}

// there reports whether there is a thing of kind at at, or what stands in for one.
func there(at string, k kind) bool {
	info, err := os.Lstat(at)
	if err != nil {
		return false
	}
	switch k {
	case dir:
		return info.IsDir()
	case file:
		return info.Mode().IsRegular()
	case symlink:
		return info.Mode()&fs.ModeSymlink != 0
	default:
		return info.Mode()&(fs.ModeCharDevice|fs.ModeSymlink) != 0
	}
}
