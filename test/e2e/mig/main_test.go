// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package mig

import (
	"context"
	"testing"

	"github.com/cotenant-dev/cotenant/test/lab"
	"github.com/cotenant-dev/cotenant/test/lab/labtest"
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
	labtest.Main(m, "e2e-mig", func(ctx context.Context, l *lab.Lab) error {
		cluster = l
		node := func(name, pool string, gpus ...string) lab.Node {
			return lab.Node{Name: name, GPUs: gpus, Driver: "570.86.15", CUDA: "12.8", Labels: map[string]string{
				"vke.node.gpu.schedule": "nvidia-dra", "gpu-pool": pool,
			}}
		}
		if err := l.Up(ctx, node(hopper, "partitions", "H100-80", "H100-80"), node(mixed, "mixed", "A100-40", "A100-40", "H100-80", "T4")); err != nil {
			return err
		}
		if err := l.Machine(mixed).SetMIG(a100On, true); err != nil {
			return err
		}
		_, err := l.Install(ctx)
		return err
	})
}
