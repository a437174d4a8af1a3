// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// floorWrite is the size of the small write, in bytes: one page.
const floorWrite = 4096

// floor measures what no plugin can do without: reading the claim from the API
// server, and two writes that reach the disk, one before anything is touched and
// one after.
type floor struct {
	client kubernetes.Interface
	file   *os.File
	page   []byte

	get, sync sample // ms; sync is of both writes
}

// newFloor makes a floor that writes to the file system of dir. The file has its
// size and blocks before anything is measured.
func newFloor(client kubernetes.Interface, dir string) (*floor, error) {
	file, err := os.Create(filepath.Join(dir, "floor"))
	if err != nil {
		return nil, err
	}
	f := &floor{client: client, file: file, page: make([]byte, floorWrite)}
	return f, f.write()
}

func (f *floor) close() { _ = f.file.Close() }

// measure takes one sample of each part.
func (f *floor) measure(ctx context.Context, claim string) error {
	err := f.get.take(func() error {
		_, err := f.client.ResourceV1().ResourceClaims(namespace).Get(ctx, claim, metav1.GetOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	return f.sync.take(func() error {
		if err := f.write(); err != nil {
			return err
		}
		return f.write()
	})
}

func (f *floor) write() error {
	f.page[0]++
	if _, err := f.file.WriteAt(f.page, 0); err != nil {
		return err
	}
	return f.file.Sync()
}

// p50 is the floor of a prepare, in ms.
func (f *floor) p50() float64 { return f.get.percentile(50) + f.sync.percentile(50) }
