// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
)

// holders are the holds on the GPUs, as "slot/claim".
func holders(t *testing.T, j *Journal, gpus ...string) []string {
	t.Helper()
	holds, err := j.Holds(gpus...)
	ok(t, err)
	var out []string
	for _, h := range holds {
		out = append(out, h.Slot+"/"+h.Claim)
	}
	return out
}

// A GPU's holds are those on it and on its parts, and not those of a GPU whose
// number begins alike.
func TestHoldsOfOneGPU(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal.db"))
	defer j.Close()
	for uid, slot := range map[string]string{
		"a": "gpu-1-mig-1g10gb-19-6", "b": "gpu-10", "c": "gpu-10-mig-1g10gb-19-6", "d": "gpu-1-mig-1g10gb-19-5", "e": "gpu-100", "f": "gpu-2", "g": "gpu-1",
	} {
		ok(t, j.Put(record(uid, slot)))
	}
	for _, c := range []struct {
		gpus []string
		want []string
	}{
		{[]string{"gpu-1"}, []string{"gpu-1/g", "gpu-1-mig-1g10gb-19-5/d", "gpu-1-mig-1g10gb-19-6/a"}},
		{[]string{"gpu-10"}, []string{"gpu-10/b", "gpu-10-mig-1g10gb-19-6/c"}},
		{[]string{"gpu-2", "gpu-10", "gpu-2"}, []string{"gpu-10/b", "gpu-10-mig-1g10gb-19-6/c", "gpu-2/f"}},
		{[]string{"gpu-3"}, nil},
		{nil, nil},
	} {
		if d := cmp.Diff(c.want, holders(t, j, c.gpus...)); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.gpus, d)
		}
	}
}

// What is owed takes the record's place, with the holds of what is owed alone,
// and with the fence in one transaction; once nothing is owed it goes.
func TestForgetWithSomethingOwed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path)
	ok(t, j.Put(record("c", "gpu-0", "gpu-1-mig-1g10gb-19-6")))
	at := sharing.Place{Slot: "gpu-1-mig-1g10gb-19-6", Address: "0000:02:00.0", Partition: mig.Partition{Profile: 19, Placement: mig.Placement{Start: 6, Size: 1}}}
	owed := sharing.Record{UID: "c", Namespace: "ns", Name: "name-c", State: sharing.Releasing, Grant: &sharing.Grant{Devices: []sharing.Granted{}},
		Steps: []sharing.Step{sharing.CreateGPUInstance{Place: at}}, Facts: sharing.Facts{at.Slot: {GI: 13}},
		Holds: []sharing.Hold{{Slot: at.Slot, Claim: "c", Namespace: "ns", Name: "name-c"}}}
	fence := sharing.Fence{Address: at.Address, Condition: sharing.Fenced, Why: "because"}
	ok(t, j.Forget(owed, fence))
	ok(t, j.Forget(owed, fence)) // by a repeat
	ok(t, j.Close())

	j = open(t, path)
	defer j.Close()
	consistent(t, j)
	got, found, err := j.Claim("c")
	ok(t, err)
	if d := cmp.Diff(owed, got); !found || d != "" {
		t.Errorf("found %t (-want +got):\n%s", found, d)
	}
	if d := cmp.Diff([]string{at.Slot + "/c"}, holders(t, j, "gpu-0", "gpu-1")); d != "" {
		t.Errorf("holds (-want +got):\n%s", d)
	}
	fences, err := j.Fences()
	ok(t, err)
	if d := cmp.Diff(map[string]sharing.Fence{at.Address: fence}, fences); d != "" {
		t.Errorf("fences (-want +got):\n%s", d)
	}
	ok(t, j.Forget(sharing.Record{UID: "c", State: sharing.Releasing, Holds: owed.Holds}))
	if _, found, err = j.Claim("c"); found || err != nil {
		t.Errorf("nothing is owed, and the record is there: %v", err)
	}
	if got := holders(t, j, "gpu-1"); got != nil {
		t.Errorf("nothing is owed, and %v is held", got)
	}
	consistent(t, j)
}

// A mode that stays on never takes the place of what sets the whole GPU apart,
// and is replaced by it.
func TestStuckFenceIsTheLesser(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal.db"))
	defer j.Close()
	fence := func(c sharing.Condition) sharing.Fence {
		return sharing.Fence{Address: "x", Condition: c, Why: string(c)}
	}
	for _, c := range []struct{ set, want sharing.Condition }{
		{sharing.Stuck, sharing.Stuck}, {sharing.Stuck, sharing.Stuck}, {sharing.Fenced, sharing.Fenced}, {sharing.Stuck, sharing.Fenced}, {sharing.Held, sharing.Held},
	} {
		ok(t, j.Forget(sharing.Record{UID: "nobody"}, fence(c.set)))
		fences, err := j.Fences()
		ok(t, err)
		if d := cmp.Diff(map[string]sharing.Fence{"x": fence(c.want)}, fences); d != "" {
			t.Errorf("after %s (-want +got):\n%s", c.set, d)
		}
	}
	ok(t, j.Unfence("x"))
	if fences, err := j.Fences(); err != nil || len(fences) != 0 {
		t.Errorf("fences %v, %v", fences, err)
	}
}

// A record that cannot be read sets its GPU apart, by whichever part of it the
// claim had.
func TestUnreadableRecordOfAPart(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal.db"))
	defer j.Close()
	ok(t, j.Remember([]sharing.Known{{GPU: sharing.GPU{Name: "gpu-1", Address: "0000:01:00.0"}}, {GPU: sharing.GPU{Name: "gpu-10", Address: "0000:02:00.0"}}}))
	ok(t, j.Put(record("bad", "gpu-10-mig-1g10gb-19-6")))
	ok(t, j.update(func(tx *bbolt.Tx) error { return sub(tx, bucketClaims).Put([]byte("bad"), []byte("{")) }))
	_, err := j.Mend()
	ok(t, err)
	fences, err := j.Fences()
	ok(t, err)
	if len(fences) != 1 || fences["0000:02:00.0"].Condition != sharing.Held {
		t.Errorf("fences %+v, want gpu-10 held", fences)
	}
	consistent(t, j)
}

// What is published of one GPU is replaced; that of others stays.
func TestListReplacesWhatItNames(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal.db"))
	defer j.Close()
	slot := func(name string) []sharing.Listed { return []sharing.Listed{{Slot: sharing.Slot{Name: name}}} }
	ok(t, j.List(map[string][]sharing.Listed{"a": slot("a1"), "b": slot("b1")}))
	ok(t, j.List(map[string][]sharing.Listed{"a": slot("a2")}))
	got, err := j.Listed()
	ok(t, err)
	if d := cmp.Diff(map[string][]sharing.Listed{"a": slot("a2"), "b": slot("b1")}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	ok(t, j.List(map[string][]sharing.Listed{"a": nil}))
	if got, err = j.Listed(); err != nil || len(got["a"]) != 0 || len(got["b"]) != 1 {
		t.Errorf("listed %v, %v", got, err)
	}
}
