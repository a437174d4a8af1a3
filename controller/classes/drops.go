// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"context"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// askAgain is after how long an API server that dropped an extended resource name
// is given it again: it may have been upgraded.
const askAgain = time.Hour

// drops remembers which DeviceClasses, in which version, lost their extended
// resource name on the way into the API server. One whose feature gate
// DRAExtendedResource is off, the default before Kubernetes 1.36, drops the
// field and says nothing. Without this memory every pass would write it again.
type drops map[string]loss

type loss struct {
	version string // of the DeviceClass as it came back
	until   time.Time
}

// at returns the versions that are not worth another try now, by name, and how
// long it is until the first of them is; 0 if there is none.
func (d drops) at(now time.Time) (map[string]string, time.Duration) {
	versions, again := map[string]string{}, time.Duration(0)
	for name, l := range d {
		left := l.until.Sub(now)
		if left <= 0 {
			delete(d, name)
			continue
		}
		versions[name] = l.version
		if again == 0 || left < again {
			again = left
		}
	}
	return versions, again
}

// readBack notes whether a DeviceClass that was written lost its extended
// resource name. What the write itself returns does not tell: a field that is
// missing there stays as it was sent.
func (c *Controller) readBack(ctx context.Context, want DeviceClass, done *outcome) error {
	delete(c.drops, want.Name)
	if want.ExtendedResource == "" {
		return nil
	}
	var d resourceapi.DeviceClass
	err := c.live.Get(ctx, client.ObjectKey{Name: want.Name}, &d)
	if apierrors.IsNotFound(err) {
		done.behind = true
		return nil
	}
	if err != nil {
		return err
	}
	if resourceOf(&d) == "" {
		c.drops[want.Name] = loss{version: d.ResourceVersion, until: c.clock.Now().Add(askAgain)}
		done.dropped[want.Name] = true
	}
	return nil
}
