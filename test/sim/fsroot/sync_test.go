// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package fsroot_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cotenant-dev/cotenant/test/sim/fsroot"
)

func paths(t *testing.T) fsroot.Paths {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	return fsroot.Paths{Root: at("root"), Record: at("record"), Temp: at("temp"), Past: at("past")}
}

// sync renders and verifies.
func sync(t *testing.T, p fsroot.Paths, tree fsroot.Tree) {
	t.Helper()
	if err := fsroot.Sync(p, tree); err != nil {
		t.Fatal(err)
	}
	if err := fsroot.Verify(p.Root, tree); err != nil {
		t.Errorf("after Sync: %v", err)
	}
	if got := fsroot.Rendered(p.Record); got != tree.Hash() {
		t.Errorf("the record says %s, want %s", got, tree.Hash())
	}
	if _, err := os.Lstat(p.Temp); err == nil {
		t.Error("the temporary entry is left")
	}
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

func sample(content string) fsroot.Tree {
	tree := fsroot.Tree{}
	tree.File("etc/a", content, 0o444)
	tree.File("etc/b", "same", 0o755)
	tree.Symlink("etc/link", "b")
	tree.Dir("empty/deep")
	tree.CharDev("dev/x", 195, 7)
	return tree
}

func TestSyncTouchesOnlyWhatDiffers(t *testing.T) {
	p := paths(t)
	sync(t, p, sample("one"))
	a, b, dev := inode(t, p.Root+"/etc/a"), inode(t, p.Root+"/etc/b"), inode(t, p.Root+"/dev/x")
	sync(t, p, sample("two"))
	if got, err := os.ReadFile(p.Root + "/etc/a"); err != nil || string(got) != "two" {
		t.Errorf("a is %q (%v)", got, err)
	}
	if inode(t, p.Root+"/etc/a") == a {
		t.Error("a changed in place: a reader could see half of it")
	}
	if inode(t, p.Root+"/etc/b") != b || inode(t, p.Root+"/dev/x") != dev {
		t.Error("what did not differ was made again")
	}
}

func TestSyncChangesKinds(t *testing.T) {
	p := paths(t)
	sync(t, p, sample("one"))
	other := fsroot.Tree{}
	other.File("etc", "now a file", 0o644)
	other.Dir("dev/x")
	other.Symlink("empty", "etc")
	sync(t, p, other)
	sync(t, p, sample("back"))
}

func TestSyncRepairs(t *testing.T) {
	for name, harm := range map[string]func(root string) error{
		"removed":      func(root string) error { return os.Remove(root + "/etc/link") },
		"overwritten":  func(root string) error { return os.WriteFile(root+"/etc/b", []byte("other"), 0o755) },
		"another mode": func(root string) error { return os.Chmod(root+"/etc/b", 0o700) },
		"added":        func(root string) error { return os.WriteFile(root+"/etc/c", nil, 0o644) },
		"a left link":  func(root string) error { return os.Symlink("/dev/null", filepath.Dir(root)+"/temp") },
		"a leftover":   func(root string) error { return os.WriteFile(filepath.Dir(root)+"/temp", []byte("half"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			p := paths(t)
			sync(t, p, sample("one"))
			if err := harm(p.Root); err != nil {
				t.Fatal(err)
			}
			if err := fsroot.Verify(p.Root, sample("one")); (err == nil) != (name == "a leftover" || name == "a left link") {
				t.Errorf("Verify says %v", err)
			}
			sync(t, p, sample("one"))
		})
	}
}

// TestCopies: a copy follows its source, wherever the whole was moved to.
func TestCopies(t *testing.T) {
	p := paths(t)
	if err := os.WriteFile(filepath.Join(filepath.Dir(p.Root), "tool"), []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := fsroot.Tree{}
	tree.Copy("bin/tool", "tool", 0o755)
	sync(t, p, tree)
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(filepath.Dir(p.Root), moved); err != nil {
		t.Fatal(err)
	}
	if err := fsroot.Verify(filepath.Join(moved, "root"), tree); err != nil {
		t.Errorf("after the move: %v", err)
	}
}

func TestFreshDirectories(t *testing.T) {
	p := paths(t)
	render := func(incarnation string) uint64 {
		tree := fsroot.Tree{}
		tree.Fresh("sys/module/x", incarnation)
		tree.File("sys/module/x/version", incarnation, 0o444)
		sync(t, p, tree)
		return inode(t, p.Root+"/sys/module/x")
	}
	seen := map[uint64]bool{}
	for _, incarnation := range []string{"1", "2", "3", "4", "5"} {
		ino := render(incarnation)
		if seen[ino] {
			t.Errorf("incarnation %s has the inode of an earlier one", incarnation)
		}
		seen[ino] = true
		if render(incarnation) != ino {
			t.Errorf("incarnation %s was made twice", incarnation)
		}
	}
}

func TestHashTellsTreesApart(t *testing.T) {
	seen := map[string]int{}
	for i, tree := range []fsroot.Tree{sample("one"), sample("two"), {}, func() fsroot.Tree { s := sample("one"); s.CharDev("dev/x", 195, 8); return s }()} {
		if j, ok := seen[tree.Hash()]; ok {
			t.Errorf("trees %d and %d have one hash", j, i)
		}
		seen[tree.Hash()] = i
	}
	if first, again := sample("one").Hash(), sample("one").Hash(); first != again {
		t.Error("one tree has two hashes")
	}
}
