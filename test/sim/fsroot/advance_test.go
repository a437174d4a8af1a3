// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package fsroot_test

import (
	"os"
	"testing"

	"github.com/cotenant-dev/cotenant/test/sim/fsroot"
)

// advance goes from one tree to another and verifies.
func advance(t *testing.T, p fsroot.Paths, was, now fsroot.Tree) {
	t.Helper()
	if err := fsroot.Advance(p, was.Stamp(), now.Stamp()); err != nil {
		t.Fatal(err)
	}
	if err := fsroot.Verify(p.Root, now); err != nil {
		t.Errorf("after Advance: %v", err)
	}
	if got := fsroot.Rendered(p.Record); got != now.Hash() {
		t.Errorf("the record says %s, want %s", got, now.Hash())
	}
}

// changed is the sample with things that came, went and became something else.
func changed() fsroot.Tree {
	tree := sample("two")
	delete(tree, "etc/link")
	delete(tree, "empty/deep")
	tree.File("empty/deep", "a file now", 0o444)
	tree.CharDev("dev/y", 195, 8)
	delete(tree, "dev/x")
	return tree
}

func TestAdvance(t *testing.T) {
	p := paths(t)
	sync(t, p, sample("one"))
	b := inode(t, p.Root+"/etc/b")
	advance(t, p, sample("one"), changed())
	if inode(t, p.Root+"/etc/b") != b {
		t.Error("what the trees have in common was made again")
	}
	if err := os.Remove(p.Root + "/etc/b"); err != nil {
		t.Fatal(err)
	}
	advance(t, p, changed(), sample("one"))
}

// TestReplace: over a file and where none is, with nothing left.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	temp, at := dir+"/temp", dir+"/at"
	for _, want := range []string{"first", "second", "third"} {
		if err := os.WriteFile(temp, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := fsroot.Replace(temp, at); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(at); err != nil || string(got) != want {
			t.Errorf("%q (%v), want %q", got, err, want)
		}
		if _, err := os.Lstat(temp); err == nil {
			t.Error("the temporary file is left")
		}
	}
	if err := fsroot.Replace(temp, at); err == nil {
		t.Error("nothing replaced a file")
	}
}

// TestAdvanceFromElsewhere: the root is not what it is said to be, so everything
// is compared: another writer rendered it, a kill left it between two trees, or a
// fresh directory is due.
func TestAdvanceFromElsewhere(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, p fsroot.Paths) fsroot.Tree{
		"another writer": func(t *testing.T, p fsroot.Paths) fsroot.Tree { sync(t, p, changed()); return sample("two") },
		"a killed one": func(t *testing.T, p fsroot.Paths) fsroot.Tree {
			for _, err := range []error{
				os.Remove(p.Root + "/etc/a"), os.WriteFile(p.Root+"/etc/a", []byte("half"), 0o600),
				os.WriteFile(p.Record, []byte(`{"tree":""}`), 0o600),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			return sample("two")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := paths(t)
			sync(t, p, sample("one"))
			was := spoil(t, p)
			advance(t, p, was, sample("two"))
		})
	}
	p := paths(t)
	first, second := fsroot.Tree{}, fsroot.Tree{}
	first.Fresh("sys/x", "1")
	second.Fresh("sys/x", "2")
	sync(t, p, first)
	ino := inode(t, p.Root+"/sys/x")
	advance(t, p, first, second)
	if inode(t, p.Root+"/sys/x") == ino {
		t.Error("a fresh directory is the old one")
	}
}
