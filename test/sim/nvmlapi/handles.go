// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

// handles are what the library gave out, one of each kind for each place. They
// are kept for the library's life: a caller may hold a stale one as long.
type handles struct {
	devices          map[string]*device
	migDevices       map[uint64]*migDevice
	gpuInstances     map[uint64]*gpuInstance
	computeInstances map[uint64]*computeInstance
}

func noHandles() handles {
	return handles{map[string]*device{}, map[uint64]*migDevice{}, map[uint64]*gpuInstance{}, map[uint64]*computeInstance{}}
}

// device is the handle to a GPU.
func (l *library) device(uuid string) *device {
	return handle(l, l.handles.devices, uuid, place{uuid: uuid}, func(r refuser) *device { return &device{baseDevice{r}} })
}

// migDevice is the handle to the MIG device that the compute instance seq is.
func (l *library) migDevice(uuid string, seq uint64) *migDevice {
	return handle(l, l.handles.migDevices, seq, place{uuid, seq}, func(r refuser) *migDevice { return &migDevice{baseDevice{r}} })
}

func (l *library) gpuInstance(uuid string, seq uint64) *gpuInstance {
	return handle(l, l.handles.gpuInstances, seq, place{uuid, seq}, func(r refuser) *gpuInstance { return &gpuInstance{baseGpuInstance{r}} })
}

func (l *library) computeInstance(uuid string, seq uint64) *computeInstance {
	return handle(l, l.handles.computeInstances, seq, place{uuid, seq}, func(r refuser) *computeInstance { return &computeInstance{baseComputeInstance{r}} })
}

// handle is the one under key, made where there is none yet.
func handle[K comparable, H any](l *library, all map[K]H, key K, at place, make func(refuser) H) H {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, ok := all[key]
	if !ok {
		h = make(refuser{l, at})
		all[key] = h
	}
	return h
}
