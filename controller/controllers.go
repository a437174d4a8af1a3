// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/cotenant-dev/cotenant/controller/classes"
	"github.com/cotenant-dev/cotenant/controller/defaults"
	"github.com/cotenant-dev/cotenant/controller/nodes"
)

// New returns a manager that runs every loop there is once it is started. A gate
// that is off leaves its loop out of this list; no loop asks for gates.
func New(cfg *rest.Config, o Options) (manager.Manager, error) {
	m, err := newManager(cfg, o)
	if err != nil {
		return nil, err
	}
	return m, errors.Join(
		m.Add(defaults.New(m.GetClient(), m.GetAPIReader(), o.Namespace)),
		classes.New(m.GetClient(), m.GetAPIReader(), clock.RealClock{}).Register(m),
		nodes.New(m.GetClient(), clock.RealClock{}).Register(m),
	)
}
