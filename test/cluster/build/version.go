// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// DefaultVersion is the Kubernetes release that the committed module is for.
const DefaultVersion = "1.37.2"

// Known are the releases that were built and whose k8s.io modules are complete.
// Other patch releases may lack one on the module proxy.
func Known() []string { return []string{"1.34.4", "1.35.4", "1.36.4", "1.36.5", "1.37.2"} }

// Version is a Kubernetes release, as 1.37.2.
type Version struct{ text string }

// ParseVersion reads a version with or without the leading v.
func ParseVersion(text string) (Version, error) {
	v := "v" + strings.TrimPrefix(text, "v")
	if !semver.IsValid(v) || semver.Canonical(v) != v || semver.Major(v) != "v1" || semver.Prerelease(v) != "" {
		return Version{}, fmt.Errorf("version %q: write a Kubernetes release, such as %s", text, strings.Join(Known(), ", "))
	}
	return Version{v[1:]}, nil
}

func (v Version) String() string { return v.text }

// Git is the version as Kubernetes reports it, and that of its main module.
func (v Version) Git() string { return "v" + v.text }

// Library is the version of the k8s.io modules that belong to the release.
func (v Version) Library() string { return "v0" + strings.TrimPrefix(v.text, "1") }

// Minor is the minor version, as 37.
func (v Version) Minor() string { return strings.TrimPrefix(semver.MajorMinor(v.Git()), "v1.") }
