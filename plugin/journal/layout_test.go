// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cotenant-dev/cotenant/sharing"
)

var update = flag.Bool("update", false, "write the present layout's journal to testdata; once per layout, never again")

// content is what must be read from a journal that a release left.
type content struct {
	records []sharing.Record
	fences  map[string]sharing.Fence
	known   map[string]sharing.Known
	listed  map[string][]sharing.Listed
}

// layouts are the journals that releases left. A file of every released layout
// stays here for good.
var layouts = map[string]content{
	"layout-1-whole-gpus.db.gz": {
		records: []sharing.Record{
			func() sharing.Record { r := record("admin", "gpu-0"); r.Holds[0].Admin = true; return r }(),
			record("both", "gpu-0", "gpu-1"),
			func() sharing.Record { r := record("half", "gpu-2"); r.State = sharing.Preparing; return r }(),
			func() sharing.Record { r := record("leaving", "gpu-3"); r.State = sharing.Releasing; return r }(),
		},
		fences: map[string]sharing.Fence{"0000:04:00.0": {Address: "0000:04:00.0", Condition: sharing.Fenced, Why: "released while lost"}},
	},
	"layout-2-mig.db.gz":    partitioned(),
	"layout-3-shares.db.gz": shares(),
}

func TestJournalsOfEveryRelease(t *testing.T) {
	for name, want := range layouts {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			golden := filepath.Join("testdata", name)
			if *update {
				write(t, golden, path, want)
			}
			unpack(t, golden, path)
			j := open(t, path)
			defer j.Close()
			recs, err := j.Claims()
			ok(t, err)
			if d := cmp.Diff(want.records, recs); d != "" {
				t.Errorf("records (-want +got):\n%s", d)
			}
			fences, err := j.Fences()
			ok(t, err)
			if d := cmp.Diff(want.fences, fences); d != "" {
				t.Errorf("fences (-want +got):\n%s", d)
			}
			known, err := j.Known()
			ok(t, err)
			listed, err := j.Listed()
			ok(t, err)
			if d := cmp.Diff([]any{want.known, want.listed}, []any{known, listed}, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("GPUs and what is published of them (-want +got):\n%s", d)
			}
			consistent(t, j)
			// and every claim in it can be released
			for _, r := range recs {
				ok(t, j.Forget(sharing.Record{UID: r.UID}))
			}
			consistent(t, j)
		})
	}
}

func unpack(t *testing.T, golden, path string) {
	t.Helper()
	f, err := os.Open(golden)
	ok(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	ok(t, err)
	raw, err := io.ReadAll(z)
	ok(t, err)
	ok(t, os.WriteFile(path, raw, 0o600))
}

// write makes the golden file, and refuses to change one that is there.
func write(t *testing.T, golden, path string, c content) {
	t.Helper()
	if _, err := os.Stat(golden); err == nil {
		return
	}
	j := open(t, path)
	for _, r := range c.records {
		ok(t, j.Put(r))
	}
	for _, f := range c.fences {
		ok(t, j.Forget(sharing.Record{UID: "nobody"}, f))
	}
	for _, k := range c.known {
		ok(t, j.Remember([]sharing.Known{k}))
	}
	ok(t, j.List(c.listed))
	ok(t, j.Close())
	raw, err := os.ReadFile(path)
	ok(t, err)
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err = z.Write(raw)
	ok(t, err)
	ok(t, z.Close())
	ok(t, os.MkdirAll(filepath.Dir(golden), 0o755))
	ok(t, os.WriteFile(golden, out.Bytes(), 0o644))
}
