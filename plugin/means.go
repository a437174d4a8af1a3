// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/sharing"
)

// means finds out what the node has for sharing its GPUs.
type means struct {
	// cgroup returns the cgroup that those of containers are in.
	cgroup    func() string
	intervals Intervals
	// none is why a GPU has no interval, by UUID, as it was last told. One that is
	// partitioned does not say, and the answer must not change with its mode.
	none map[string]string
}

// gather returns what there is. Whether a GPU has a time-slice interval is asked
// only where a policy wants to set one.
func (m *means) gather(ctx context.Context, devices []sharing.Device, policies []v1alpha1.SharingPolicy, mps sharing.Supervision) sharing.Means {
	has := sharing.Means{MPS: mps}
	has.ContainerLimits, has.NoContainerLimits = containerLimits(m.cgroup())
	if !wantInterval(policies) {
		return has
	}
	// All at once: a sick GPU may hold up the program that is asked.
	whys := make([]string, len(devices))
	var all sync.WaitGroup
	for i, d := range devices {
		whys[i] = m.none[d.UUID]
		if d.Condition == sharing.Lost || d.On {
			continue // it does not say now
		}
		all.Go(func() {
			whys[i] = ""
			if err := m.intervals.Supports(ctx, d.UUID); api.ReasonOf(err) == api.Unsupported {
				whys[i] = err.Error()
			}
		})
	}
	all.Wait()
	m.none, has.NoInterval = map[string]string{}, map[string]string{}
	for i, d := range devices {
		if whys[i] != "" {
			m.none[d.UUID], has.NoInterval[d.Address] = whys[i], whys[i]
		}
	}
	return has
}

// wantInterval says whether an offer has an interval that a GPU may be unable to set.
func wantInterval(policies []v1alpha1.SharingPolicy) bool {
	return slices.ContainsFunc(policies, func(p v1alpha1.SharingPolicy) bool {
		return slices.ContainsFunc(p.Spec.Offers, func(o v1alpha1.Offer) bool {
			if o.Sharing == nil || o.Sharing.TimeSlicing == nil {
				return false
			}
			i := nvidia.Interval(o.Sharing.TimeSlicing.Interval)
			return i != "" && i != nvidia.Default
		})
	})
}

// controllersFile tells the controllers of a cgroup v2, and that it is one.
const controllersFile = "cgroup.controllers"

// containerLimits says whether the driver can limit the memory of a container below
// the cgroup: it takes cgroup v2, and a controller that counts device memory: dmem
// (Linux 6.14), or misc with the driver's own.
func containerLimits(cgroup string) (bool, string) {
	path := filepath.Join(cgroup, controllersFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		return false, "the node has cgroup v1, and the driver limits the memory of containers by cgroup v2"
	}
	controllers := strings.Fields(string(raw))
	if !slices.Contains(controllers, "dmem") && !slices.Contains(controllers, "misc") {
		return false, fmt.Sprintf("containers have neither of the cgroup controllers dmem and misc (%s); dmem is in Linux 6.14", path)
	}
	return true, ""
}
