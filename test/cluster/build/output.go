// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// mainModule is the module whose directory is the root of the repository.
const mainModule = "github.com/cotenant-dev/cotenant"

// Output is the output directory.
type Output string

// Bin returns the path of a program that does not depend on the version.
func (o Output) Bin(name string) string { return filepath.Join(string(o), "bin", name) }

// Kube returns the path of the program that holds a version's daemons.
func (o Output) Kube(v Version) string { return filepath.Join(string(o), v.String(), "kube") }

// Image returns the path of an image tarball.
func (o Output) Image(name string) string { return filepath.Join(string(o), "images", name+".tar") }

// Run returns the run directory of the cluster with the name; of all, if empty.
func (o Output) Run(name string) string { return filepath.Join(string(o), "run", name) }

// Have returns an error that says what to do if one of the files is missing.
func (o Output) Have(v Version, files ...string) error {
	for _, f := range files {
		_, err := os.Stat(f)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is not built: run `cluster build --version %s` first", f, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// FindRepository returns the root of the repository that dir is in.
func FindRepository(dir string) (string, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && modfile.ModulePath(text) == mainModule {
			return at, nil
		}
		parent := filepath.Dir(at)
		if parent == at {
			return "", fmt.Errorf("no directory above %s holds the module %s: run this inside the repository", dir, mainModule)
		}
		at = parent
	}
}

// DefaultOutput is where things go if nobody says otherwise.
func DefaultOutput(repository string) Output {
	return Output(filepath.Join(repository, filepath.FromSlash("out/cluster")))
}
