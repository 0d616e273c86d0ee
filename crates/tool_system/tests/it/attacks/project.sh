# Makes a project with everything in it that an attack may look for. Runs in its empty directory.
set -eu
umask 022
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TEMPLATE_DIR=
git() { command git -c init.defaultBranch=main -c user.name=u -c user.email=u@h -c protocol.file.allow=always "$@"; }
identify() { git -C "$1" config user.name u; git -C "$1" config user.email u@h; }

mkdir -p src dir/deep target ignored node_modules/p .toolkiln .vscode rodir ../elsewhere ../home
echo one > a.txt; echo bbb > b.txt; echo deep > dir/deep/c.txt; echo 'fn main() {}' > src/main.rs
printf '/target\n/ignored/\nnode_modules/\n*.log\n/wt\n' > .gitignore
printf '#!/bin/sh\necho run\n' > run.sh; chmod 755 run.sh
echo built > target/built; echo held > target/held; echo x > ignored/x.txt; echo log > app.log
echo 'module.exports = 1' > node_modules/p/index.js
echo '# none' > .toolkiln/config.toml; echo '{}' > .vscode/settings.json; echo : > .envrc
echo odd > 'odd name.txt'; echo dash > ./-dash; echo line > $'new\nline'; echo u > ünïcode; echo star > '*'
ln -s a.txt link.txt; ln -s src dirlink; ln -s ../elsewhere out; ln -s nowhere broken
echo e > ../elsewhere/e.txt
echo hard > hard1; ln hard1 hard2
echo ro > ro.txt; chmod 444 ro.txt
echo p > private.txt; chmod 600 private.txt
mkfifo fifo; truncate -s 65536 sparse; : > data.db
echo tagged > tagged.txt
python3 -c 'import os; os.setxattr("tagged.txt", "user.tag", b"1")'

# Tests and builds that do more than they say.
mkdir -p suites/make suites/npm suites/python suites/rust/src
printf 'test:\n\t@rm -f %s/a.txt\n' "$PWD" > suites/make/Makefile
printf '{"name": "n", "private": true, "scripts": {"test": "rm -f ../../a.txt"}}\n' > suites/npm/package.json
printf 'import os, unittest\nos.remove("%s/a.txt")\nclass T(unittest.TestCase):\n    def test(self): pass\n' "$PWD" > suites/python/test_it.py
printf '[package]\nname = "n"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n' > suites/rust/Cargo.toml
echo 'fn main() { std::fs::remove_file("../../a.txt").unwrap(); }' > suites/rust/build.rs
echo > suites/rust/src/lib.rs

git init -q nested; identify nested; echo n > nested/f; git -C nested add f; git -C nested commit -q -m nested
git init -q ../origin; identify ../origin; git -C ../origin commit -q --allow-empty -m origin
git init -q .; identify .
git submodule -q add ../origin sub 2>/dev/null
identify sub
git add a.txt b.txt src dir .gitignore run.sh suites link.txt dirlink; git add -f target/held; git commit -q -m first
echo more >> b.txt; git add b.txt; git commit -q -m second
git worktree add -q wt
mkdir -p .git/hooks .git/info
echo r > rodir/r.txt; chmod 555 rodir
