// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package mig

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/cotenant-dev/cotenant/test/lab"
)

// The nodes: two GPUs whose mode follows claims; and one of each kind there is,
// of which the first A100 has MIG mode on and the second off.
const (
	hopper = "hopper"
	mixed  = "mixed"
)

// The GPUs of mixed, by index.
const (
	a100On, a100Off, h100, t4 = 0, 1, 2, 3
)

var cluster *lab.Lab

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/mig:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	cluster, err = lab.New("e2e-mig", io.Discard)
	if err != nil {
		return 1, err
	}
	defer func() {
		if derr := cluster.Down(ctx); err == nil {
			err = derr
		}
	}()
	node := func(name string, pool string, gpus ...string) lab.Node {
		return lab.Node{Name: name, GPUs: gpus, Driver: "570.86.15", CUDA: "12.8", Labels: map[string]string{
			"vke.node.gpu.schedule": "nvidia-dra", "gpu-pool": pool,
		}}
	}
	if err := cluster.Up(ctx, node(hopper, "partitions", "H100-80", "H100-80"), node(mixed, "mixed", "A100-40", "A100-40", "H100-80", "T4")); err != nil {
		return 1, err
	}
	if err := cluster.Machine(mixed).SetMIG(a100On, true); err != nil {
		return 1, err
	}
	if _, err := cluster.Install(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
