// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// makeImage makes an image of one layer.
func makeImage(s Spec, source, architecture string) (v1.Image, error) {
	t, err := newTree(s, source)
	if err != nil {
		return nil, err
	}
	archive, err := t.tar()
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive)), nil
	})
	if err != nil {
		return nil, fmt.Errorf("make the layer: %w", err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("make the image: %w", err)
	}
	return mutate.ConfigFile(image, s.config(image, architecture))
}

// config describes the image; the layers' digests are those of the image so far.
func (s Spec) config(image v1.Image, architecture string) *v1.ConfigFile {
	file, err := image.ConfigFile()
	if err != nil {
		panic(err) // the image is in memory, and its configuration is its own
	}
	file = file.DeepCopy()
	file.Architecture = architecture
	file.OS = "linux"
	file.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	file.History = nil
	file.Config = v1.Config{
		Entrypoint: s.Entrypoint,
		Cmd:        s.Command,
		User:       s.User,
		Labels:     s.Labels,
		WorkingDir: "/",
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		file.Config.Env = append(file.Config.Env, name+"="+s.Env[name])
	}
	return file
}
