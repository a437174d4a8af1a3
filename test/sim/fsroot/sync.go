// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package fsroot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Paths are the places Sync works in, all on one file system.
type Paths struct {
	Root   string // the directory that becomes the tree
	Record string // the file that says what Root was rendered from
	Temp   string // where an entry is made before it is renamed into place
	Past   string // where past incarnations of fresh directories stay
}

// record is what Root was last rendered from.
type record struct {
	Tree  string            `json:"tree"`
	Fresh map[string]string `json:"fresh,omitempty"`
}

// Rendered is the hash of the tree that the record says is rendered, "" for none.
func Rendered(recordPath string) string { return readRecord(recordPath).Tree }

func readRecord(p string) record {
	var r record
	b, err := os.ReadFile(p)
	if err != nil || json.Unmarshal(b, &r) != nil {
		return record{}
	}
	return r
}

// Sync makes p.Root equal to t. The caller keeps other Syncs away.
func Sync(p Paths, t Tree) error {
	was := readRecord(p.Record)
	now := record{Tree: t.Hash(), Fresh: map[string]string{}}
	if err := os.MkdirAll(p.Root, 0o755); err != nil {
		return err
	}
	if err := sweep(p.Root, t); err != nil {
		return err
	}
	for _, name := range t.paths() {
		e := t.entry(p.Root, name)
		at := filepath.Join(p.Root, name)
		if e.incarnation != "" {
			now.Fresh[name] = e.incarnation
			if was.Fresh[name] != e.incarnation {
				if err := retire(at, p.Past, name); err != nil {
					return fmt.Errorf("rendering %s: %w", name, err)
				}
			}
		}
		if equal(at, e) == nil {
			continue
		}
		if err := place(p.Temp, at, e); err != nil {
			return fmt.Errorf("rendering %s: %w", name, err)
		}
	}
	return writeRecord(p, now)
}

func writeRecord(p Paths, r record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	// A kill may have left something else than a file there.
	if err := remove(p.Temp); err != nil {
		return err
	}
	if err := os.WriteFile(p.Temp, b, 0o644); err != nil {
		return err
	}
	return Replace(p.Temp, p.Record)
}

// sweep removes what is in root and not in t, and what is there as another
// kind of thing than t says, deepest first.
func sweep(root string, t Tree) error {
	var gone []string
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil || at == root {
			return err
		}
		name, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		e, ok := t[filepath.ToSlash(name)]
		if !ok || (e.kind == dir) != d.IsDir() {
			gone = append(gone, at)
			if d.IsDir() {
				return fs.SkipDir
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, at := range slices.Backward(gone) {
		if err := remove(at); err != nil {
			return err
		}
	}
	return nil
}

// retire moves a directory away for good. It is kept, emptied, so that its
// inode stays in use: a later incarnation must not come by the same number.
func retire(at, past, name string) error {
	if err := os.MkdirAll(past, 0o755); err != nil {
		return err
	}
	kept, err := os.ReadDir(past)
	if err != nil {
		return err
	}
	to := filepath.Join(past, fmt.Sprintf("%s.%d", strings.ReplaceAll(name, "/", "."), len(kept)))
	if err := os.Rename(at, to); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	inside, err := os.ReadDir(to)
	if err != nil {
		return err
	}
	for _, d := range inside {
		if err := os.RemoveAll(filepath.Join(to, d.Name())); err != nil {
			return err
		}
	}
	return nil
}
