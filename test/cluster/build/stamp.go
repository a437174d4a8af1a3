// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// stamp is what products are made from: the content of files, and words such as
// the command line.
type stamp struct {
	inputs []string // files, or directories of which every file counts
	words  []string
}

func stampFile(product string) string { return product + ".stamp" }

// fresh says whether all products are there and were made from the same. It
// returns the sum to write when they have been made.
func (s stamp) fresh(products []string) (bool, string, error) {
	sum, err := s.sum()
	if err != nil {
		return false, "", err
	}
	for _, p := range products {
		if _, err := os.Stat(p); err != nil {
			return false, sum, nil
		}
		old, err := os.ReadFile(stampFile(p))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, "", err
		}
		if string(old) != sum {
			return false, sum, nil
		}
	}
	return true, sum, nil
}

func (s stamp) write(products []string, sum string) error {
	for _, p := range products {
		if err := os.WriteFile(stampFile(p), []byte(sum), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (s stamp) sum() (string, error) {
	h := sha256.New()
	for _, w := range s.words {
		fmt.Fprintf(h, "word %q\n", w)
	}
	for _, input := range s.inputs {
		err := filepath.WalkDir(input, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			fmt.Fprintf(h, "file %q\n", path)
			return copyInto(h, path)
		})
		if err != nil {
			return "", fmt.Errorf("hash what it is made from: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func copyInto(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
