// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package sharing

import (
	"context"
	"testing"

	"github.com/cotenant-dev/cotenant/test/lab"
	"github.com/cotenant-dev/cotenant/test/lab/labtest"
)

// node has two GPUs that policy-shares.yaml of the manual is about.
const node = "shared"

var cluster *lab.Lab

func TestMain(m *testing.M) {
	labtest.Main(m, "e2e-sharing", func(ctx context.Context, l *lab.Lab) error {
		cluster = l
		err := l.Up(ctx, lab.Node{Name: node, GPUs: []string{"H100-80", "H100-80"}, Driver: "580.65.06", CUDA: "13.0", Labels: map[string]string{
			"vke.node.gpu.schedule": "nvidia-dra", "gpu-pool": "shared",
		}})
		if err != nil {
			return err
		}
		_, err = l.Install(ctx)
		return err
	})
}
