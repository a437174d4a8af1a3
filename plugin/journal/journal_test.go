// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/cotenant-dev/cotenant/sharing"
)

const checkFile = "COTENANT_TEST_CHECK_JOURNAL"

func TestMain(m *testing.M) {
	if path := os.Getenv(checkFile); path != "" {
		if err := CheckFile(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// inChild checks the file the way the plugin does.
func inChild(path string) error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), checkFile+"="+path)
	cmd.Stderr = io.Discard
	return cmd.Run()
}

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string) *Journal {
	t.Helper()
	j, damage, err := Open(path, inChild, now)
	ok(t, err)
	if damage != nil {
		t.Fatalf("damaged: %v", damage.Why)
	}
	return j
}

func record(uid string, slots ...string) sharing.Record {
	r := sharing.Record{UID: uid, Namespace: "ns", Name: "name-" + uid, State: sharing.Prepared, Grant: &sharing.Grant{Devices: []sharing.Granted{}}}
	spec := sharing.WriteSpec{Claim: uid}
	for _, s := range slots {
		spec.Devices = append(spec.Devices, sharing.SpecDevice{Name: uid + "-" + s, Address: "0000:65:00.0", UUID: "GPU-1"})
		r.Holds = append(r.Holds, sharing.Hold{Slot: s, Claim: uid, Namespace: r.Namespace, Name: r.Name})
		r.Grant.Devices = append(r.Grant.Devices, sharing.Granted{Request: "gpu", Pool: "n1", Device: s, CDI: []string{"k8s.gpu.nvidia.com/claim=" + uid + "-" + s}})
	}
	r.Steps = []sharing.Step{spec}
	return r
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path)
	want := record("u1", "gpu-0", "gpu-1")
	want.Holds[1].Admin = true
	ok(t, j.Put(want))
	known := sharing.Known{GPU: sharing.GPU{Name: "gpu-0", Address: "0000:65:00.0", UUID: "GPU-1", Minor: 3, MemoryBytes: 1 << 34, NUMANode: new(int)}, Boot: "b"}
	ok(t, j.Remember([]sharing.Known{known}))
	ok(t, j.Turn(sharing.Era{Boot: "b", Load: "7"}, nil))
	ok(t, j.Close())

	j = open(t, path)
	defer j.Close()
	got, found, err := j.Claim("u1")
	ok(t, err)
	if d := cmp.Diff(want, got); !found || d != "" {
		t.Errorf("record, found %v (-want +got):\n%s", found, d)
	}
	gpus, err := j.Known()
	ok(t, err)
	if d := cmp.Diff(map[string]sharing.Known{"0000:65:00.0": known}, gpus); d != "" {
		t.Errorf("known GPUs (-want +got):\n%s", d)
	}
	era, err := j.Era()
	ok(t, err)
	if era != (sharing.Era{Boot: "b", Load: "7"}) {
		t.Errorf("era %+v", era)
	}
	consistent(t, j)
}

func consistent(t *testing.T, j *Journal) {
	t.Helper()
	bad, err := j.Check()
	ok(t, err)
	for _, b := range bad {
		t.Error(b)
	}
}

// Holds follow their record, whatever it becomes.
func TestHoldsFollowTheirRecord(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal.db"))
	defer j.Close()
	ok(t, j.Put(record("u1", "gpu-0", "gpu-1")))
	ok(t, j.Put(record("u2", "gpu-1")))
	ok(t, j.Put(record("u1", "gpu-1"))) // gives gpu-0 up
	consistent(t, j)
	holds, err := j.Holds("gpu-0", "gpu-1", "gpu-9")
	ok(t, err)
	if len(holds) != 2 || holds[0].Claim != "u1" || holds[1].Claim != "u2" {
		t.Errorf("holds %+v, want u1 and u2 on gpu-1", holds)
	}
	ok(t, j.Forget(sharing.Record{UID: "u1"}, sharing.Fence{Address: "0000:65:00.0", Condition: sharing.Fenced, Why: "because"}))
	ok(t, j.Forget(sharing.Record{UID: "u1"}))
	consistent(t, j)
	fences, err := j.Fences()
	ok(t, err)
	if fences["0000:65:00.0"].Why != "because" {
		t.Errorf("fences %+v", fences)
	}
}

// Every file that a full disk, a power cut or a bad sector can leave ends in one
// of two ways: it is set aside and the node is held, or nothing of it is lost.
// The process always goes on.
func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.db")
	j := open(t, path)
	for i := range 40 {
		ok(t, j.Put(record(fmt.Sprintf("claim-%02d", i), fmt.Sprintf("gpu-%d", i%8))))
	}
	ok(t, j.Forget(sharing.Record{UID: "claim-13"}))
	ok(t, j.Close())
	sound, err := os.ReadFile(path)
	ok(t, err)
	aside, intact := 0, 0
	for what, content := range damagedFiles(sound) {
		ok(t, os.WriteFile(path, content, 0o600))
		j, damage, err := Open(path, inChild, now)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if _, err := j.Mend(); err != nil {
			t.Fatalf("%s: mend: %v", what, err)
		}
		why, err := j.Suspect()
		ok(t, err)
		recs, err := j.Claims()
		ok(t, err)
		switch {
		case damage != nil && why != "":
			aside++
			ok(t, os.Remove(damage.Path))
		case damage == nil && (why != "" || len(recs) == 39):
			intact++
		default:
			t.Errorf("%s: %d of 39 records, damage %v, suspect %q: records were lost in silence", what, len(recs), damage, why)
		}
		consistent(t, j)
		ok(t, j.Close())
		ok(t, os.Remove(path))
	}
	t.Logf("%d files were set aside, %d lost nothing", aside, intact)
	if aside < 100 {
		t.Errorf("only %d files were set aside; the damage is not damage", aside)
	}
}

func damagedFiles(sound []byte) map[string][]byte {
	out := map[string][]byte{}
	for i := range 100 {
		cut := len(sound) * i / 100
		out[fmt.Sprintf("truncated at %d", cut)] = sound[:cut]
	}
	page := os.Getpagesize()
	rng := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < len(sound)/page+20; i++ {
		at := i % (len(sound) / page) * page
		harmed := append([]byte(nil), sound...)
		if i < len(sound)/page {
			clear(harmed[at : at+page])
			out[fmt.Sprintf("page at %d zeroed", at)] = harmed
			continue
		}
		for b := range harmed[at : at+page] {
			harmed[at+b] = byte(rng.Uint32())
		}
		out[fmt.Sprintf("page at %d garbled, %d", at, i)] = harmed
	}
	return out
}

// A record that cannot be read is quarantined, and the GPU it held is fenced; the
// rest of the node is served.
func TestUnreadableRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path)
	defer j.Close()
	ok(t, j.Remember([]sharing.Known{{GPU: sharing.GPU{Name: "gpu-0", Address: "0000:01:00.0"}}, {GPU: sharing.GPU{Name: "gpu-1", Address: "0000:02:00.0"}}}))
	ok(t, j.Put(record("bad", "gpu-0")))
	ok(t, j.Put(record("good", "gpu-1")))
	ok(t, j.update(func(tx *bbolt.Tx) error { return sub(tx, bucketClaims).Put([]byte("bad"), []byte("{")) }))
	did, err := j.Mend()
	ok(t, err)
	if len(did) != 2 || !strings.Contains(did[0], "bad") || !strings.Contains(did[1], "gpu-0 is held") {
		t.Errorf("mended: %q", did)
	}
	fences, err := j.Fences()
	ok(t, err)
	if f := fences["0000:01:00.0"]; len(fences) != 1 || f.Condition != sharing.Held {
		t.Errorf("fences %+v, want gpu-0 held", fences)
	}
	recs, err := j.Claims()
	ok(t, err)
	if len(recs) != 1 || recs[0].UID != "good" {
		t.Errorf("records %+v, want the good one", recs)
	}
	consistent(t, j)
	if did, err = j.Mend(); err != nil || len(did) != 0 {
		t.Errorf("mended again: %q, %v", did, err)
	}
}

// A newer layout is refused and left as it is.
func TestNewerLayoutIsRefused(t *testing.T) {
	for what, write := range map[string]func(*bbolt.Tx) error{
		"version": func(tx *bbolt.Tx) error { return tx.Bucket(bucketRoot).Put(keyVersion, []byte("99")) },
		"bucket":  func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("v2")); return err },
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			j := open(t, path)
			ok(t, j.Put(record("u1", "gpu-0")))
			ok(t, j.update(write))
			ok(t, j.Close())
			before, err := os.ReadFile(path)
			ok(t, err)
			_, _, err = Open(path, CheckFile, now)
			if !errors.Is(err, ErrNewer) {
				t.Errorf("error %v, want ErrNewer", err)
			}
			after, err := os.ReadFile(path)
			ok(t, err)
			if string(before) != string(after) {
				t.Error("the file was changed")
			}
		})
	}
}

// Killed between the two renames of a replacement, the node is still held.
func TestReplacementCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	ok(t, os.WriteFile(path, []byte("damaged"), 0o600))
	j, damage, err := Open(path, inChild, now)
	ok(t, err)
	ok(t, j.Close())
	// As it was between the renames.
	ok(t, os.Rename(path, fresh(path)))
	j, _, err = Open(path, inChild, now)
	ok(t, err)
	defer j.Close()
	why, err := j.Suspect()
	ok(t, err)
	if damage == nil || !strings.Contains(why, filepath.Base(damage.Path)) {
		t.Errorf("damage %v, suspect %q", damage, why)
	}
}

// Concurrent writers share commits, and each gets its own result.
func TestConcurrentWriters(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal.db"))
	defer j.Close()
	wrong := errors.New("refused")
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			uid := fmt.Sprintf("u%03d", i)
			if err := j.Put(record(uid, "gpu-0")); err != nil {
				t.Error(err)
			}
			if err := j.update(func(*bbolt.Tx) error { return wrong }); !errors.Is(err, wrong) {
				t.Errorf("a failing change returned %v", err)
			}
			if i%2 == 0 {
				if err := j.Forget(sharing.Record{UID: uid}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	recs, err := j.Claims()
	ok(t, err)
	if len(recs) != 100 {
		t.Errorf("%d records, want 100", len(recs))
	}
	consistent(t, j)
}
