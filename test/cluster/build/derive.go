// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

const kubernetesModule = "k8s.io/kubernetes"

// deriveModule edits the committed kube module's go.mod for another Kubernetes
// version: what it requires gets the versions that release was tested with, and
// every module that release keeps in its own tree is replaced by the published
// one. upstream is the go.mod of k8s.io/kubernetes at that version. The rest of
// the requirements is left to `go build -mod=mod`.
func deriveModule(committed, upstream []byte, v Version) ([]byte, error) {
	ours, err := modfile.Parse("kube/go.mod", committed, nil)
	if err != nil {
		return nil, err
	}
	theirs, err := modfile.Parse(kubernetesModule+"@"+v.Git(), upstream, nil)
	if err != nil {
		return nil, err
	}
	derived := new(modfile.File)
	derived.Syntax = new(modfile.FileSyntax)
	if err := derived.AddModuleStmt(ours.Module.Mod.Path); err != nil {
		return nil, err
	}
	if err := derived.AddGoStmt(ours.Go.Version); err != nil {
		return nil, err
	}
	for _, g := range theirs.Godebug {
		if err := derived.AddGodebug(g.Key, g.Value); err != nil {
			return nil, err
		}
	}
	if err := requireAs(derived, ours, theirs, v); err != nil {
		return nil, err
	}
	for _, r := range theirs.Replace {
		if strings.HasPrefix(r.New.Path, "./") {
			if err := derived.AddReplace(r.Old.Path, "", r.Old.Path, v.Library()); err != nil {
				return nil, err
			}
		}
	}
	derived.Cleanup()
	return derived.Format()
}

// requireAs adds what ours requires directly, in the versions theirs has.
func requireAs(derived, ours, theirs *modfile.File, v Version) error {
	versions := map[string]string{kubernetesModule: v.Git()}
	for _, r := range theirs.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range ours.Require {
		if r.Indirect {
			continue
		}
		version, ok := versions[r.Mod.Path]
		if !ok {
			return fmt.Errorf("%s %s does not require %s, which kube needs: this version cannot be built", kubernetesModule, v, r.Mod.Path)
		}
		if semver.Compare(version, "v0.0.0") == 0 {
			version = v.Library() // lives in their tree
		}
		if err := derived.AddRequire(r.Mod.Path, version); err != nil {
			return err
		}
	}
	return nil
}
