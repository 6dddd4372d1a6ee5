// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// WorkingTree stands for the files of the working tree, in place of a revision.
const WorkingTree = "."

// A repository is the user's, seen from the folder of the package.
type repository struct {
	dir  string // the package's folder, as it was given
	top  string // of the working tree
	path string // from there to the package
}

// openRepository finds the repository that a package's folder lies in.
func openRepository(ctx context.Context, dir string) (*repository, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("compare: -package %q is no folder; write it like ./sub/folder", dir)
	}
	r := &repository{dir: dir}
	top, err := r.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("compare: -package %q is not in a git repository: %w", dir, err)
	}
	prefix, err := r.git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, fmt.Errorf("compare: -package %q: %w", dir, err)
	}
	r.top, r.path = filepath.FromSlash(top), filepath.FromSlash(prefix)
	return r, nil
}

// git runs a git command and returns its output. Its error is the last line of git's output.
func (r *repository) git(ctx context.Context, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", r.dir}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("there is no git in PATH")
		}
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		if said := strings.TrimPrefix(lines[len(lines)-1], "fatal: "); said != "" {
			return "", errors.New(said)
		}
		return "", err
	}
	return strings.TrimSpace(stdout.String()), nil
}

// commit resolves a revision.
func (r *repository) commit(ctx context.Context, revision string) (string, error) {
	sha, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("compare: %q is no revision of %s; git log --oneline --all lists them", revision, r.top)
	}
	return sha, nil
}

// checkDirty refuses to measure HEAD while the working tree has changes or new Go files that are in
// no revision: they would silently be left out. A dot stands for the files of the working tree.
func (r *repository) checkDirty(ctx context.Context, revisions, commits [2]string) error {
	head, err := r.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	for i, name := range revisions {
		if name == WorkingTree {
			return nil
		}
		if commits[i] != head || i == 0 && revisions[1] == WorkingTree {
			continue
		}
		changed, err := r.git(ctx, "status", "--porcelain", "--untracked-files=no")
		if err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		if changed != "" {
			return fmt.Errorf("compare: the working tree has changes that %s lacks; commit them, or write . to measure the files as they are", name)
		}
		added, err := r.git(ctx, "ls-files", "--others", "--exclude-standard", "--full-name", "--", ":(top)*.go")
		if err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		if first, _, _ := strings.Cut(added, "\n"); first != "" {
			return fmt.Errorf("compare: %s is not in %s; commit it or let git ignore it, or write . to measure the files as they are", first, name)
		}
	}
	return nil
}

// cleanupTime is the time limit for removing a worktree, so that an interrupted command does not
// hang.
const cleanupTime = 30 * time.Second

// checkOut makes a worktree of a commit below temp and returns the package's folder in it. The
// returned function removes the worktree, even if ctx has been cancelled.
func (r *repository) checkOut(ctx context.Context, temp, commit string) (dir string, remove func(), err error) {
	tree := filepath.Join(temp, "tree")
	remove = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer cancel()
		// The folder itself is temporary. But git must forget the worktree, too; prune does that if
		// remove cannot.
		if _, err := r.git(ctx, "worktree", "remove", "--force", "--force", tree); err != nil {
			os.RemoveAll(tree)
			_, _ = r.git(ctx, "worktree", "prune")
		}
	}
	if _, err := r.git(ctx, "worktree", "add", "--quiet", "--detach", tree, commit); err != nil {
		remove()
		return "", nil, fmt.Errorf("compare: check out %s: %w", commit, err)
	}
	dir = filepath.Join(tree, r.path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		remove()
		return "", nil, fmt.Errorf("compare: there is no folder %s in %.12s", filepath.ToSlash(r.path), commit)
	}
	return dir, remove, nil
}
