// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const header = "// SPDX-FileCopyrightText: The Cotenant Authors\n// SPDX-License-Identifier: Apache-2.0\n"

// Every source file says whose it is; every package says why it exists; none is
// called after nothing.
func TestFiles(t *testing.T) {
	top := root(t)
	documented := map[string]bool{}
	seen := map[string]bool{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(top, path)
		if d.IsDir() {
			switch d.Name() {
			case ".git", "out", "testdata":
				return filepath.SkipDir
			case "util", "utils", "common", "helpers", "manager", "misc":
				t.Errorf("the folder %s is named after nothing", rel)
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		generated := bytes.Contains(src, []byte("// Code generated "))
		if !bytes.HasPrefix(src, []byte(header)) && !generated {
			t.Errorf("%s does not begin with the license header", rel)
		}
		dir := filepath.Dir(rel)
		if !strings.HasSuffix(path, "_test.go") {
			seen[dir] = true
			if bytes.Contains(src, []byte("\n// Package ")) || bytes.Contains(src, []byte("\n// Command ")) {
				documented[dir] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range seen {
		if !documented[dir] {
			t.Errorf("the package in %s has no comment that says why it exists", dir)
		}
	}
}
