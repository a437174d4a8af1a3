// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package fsroot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
)

type kind string

const (
	dir     kind = "dir"
	file    kind = "file"
	symlink kind = "symlink"
	charDev kind = "chardev"
)

// entry is one path of a tree. It is comparable.
type entry struct {
	kind         kind
	mode         fs.FileMode
	content      string // of a file; the target of a symlink
	source       string // the file whose copy this one is
	major, minor uint32
	incarnation  string // of a fresh directory
}

// Tree says what a directory contains, by slash-separated relative path.
// Parent directories need no mention.
type Tree map[string]entry

// Dir adds a directory.
func (t Tree) Dir(p string) {
	for ; p != "."; p = path.Dir(p) {
		if _, ok := t[p]; !ok {
			t[p] = entry{kind: dir, mode: 0o755}
		}
	}
}

// Fresh adds a directory that is another one, with another inode, whenever
// incarnation is another.
func (t Tree) Fresh(p, incarnation string) {
	t.Dir(p)
	t[p] = entry{kind: dir, mode: 0o755, incarnation: incarnation}
}

// File adds a file with the given content.
func (t Tree) File(p, content string, mode fs.FileMode) {
	t.Dir(path.Dir(p))
	t[p] = entry{kind: file, mode: mode, content: content}
}

// Copy adds a file that is a copy of the file source, which is named relative to
// the directory that the root is in.
func (t Tree) Copy(p, source string, mode fs.FileMode) {
	t.Dir(path.Dir(p))
	t[p] = entry{kind: file, mode: mode, source: source}
}

// Symlink adds a symbolic link.
func (t Tree) Symlink(p, target string) {
	t.Dir(path.Dir(p))
	t[p] = entry{kind: symlink, content: target}
}

// CharDev adds a character device that everybody may open. Where this process
// may not make one it is a link to /dev/null, which stat takes for a device too.
func (t Tree) CharDev(p string, major, minor uint32) { t.Node(p, major, minor, 0o666) }

// Node adds a character device of the given mode, as CharDev otherwise.
func (t Tree) Node(p string, major, minor, mode uint32) {
	t.Dir(path.Dir(p))
	t[p] = entry{kind: charDev, mode: fs.FileMode(mode), major: major, minor: minor}
}

// Hash tells trees apart.
func (t Tree) Hash() string {
	h := sha256.New()
	for _, p := range t.paths() {
		e := t[p]
		// Each text with its length before it, so that no two trees run together.
		fmt.Fprintf(h, "%d %s %s %o %d %d ", len(p), p, e.kind, e.mode, e.major, e.minor)
		for _, text := range []string{e.content, e.source, e.incarnation} {
			fmt.Fprintf(h, "%d ", len(text))
			io.WriteString(h, text)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// entry is what the tree says of a path, for a tree rendered at root.
func (t Tree) entry(root, p string) entry {
	e := t[p]
	if e.source != "" {
		e.source = filepath.Join(filepath.Dir(root), e.source)
	}
	return e
}

// paths are in order, so that a directory comes before what is in it.
func (t Tree) paths() []string { return slices.Sorted(maps.Keys(t)) }
