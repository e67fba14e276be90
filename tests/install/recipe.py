#!/usr/bin/env python3
"""recipe.py - the Spack recipe without Spack: stand-ins for its words record what the recipe says.  The release is that of
configure.ac, and the options are options of configure, for every value of every variant.
"""
# family: recipe
import os
import re
import subprocess
import sys
import types

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
versions, variants, conditions = [], {}, []
results = []


def ok(good, name):
    results.append(good)
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}")


class Combination(tuple):
    def with_default(self, default):
        return self


class Package:
    """What a recipe inherits: two helpers that make options of variants."""

    def enable_or_disable(self, name):
        return [f"--{'enable' if '+' + name in self.spec else 'disable'}-{name}"]

    def with_or_without(self, name):
        return [f"--{'with' if '+' + name in self.spec else 'without'}-{name}"]


class Spec:
    """A choice of one value for each variant."""

    def __init__(self, chosen):
        self.chosen = chosen
        self.variants = {name: types.SimpleNamespace(value=value) for name, value in chosen.items()}

    def __contains__(self, word):
        return self.chosen[word[1:]] is (word[0] == "+")

    def __getitem__(self, package):
        return types.SimpleNamespace(mpicc="/mpi/bin/mpicc", prefix="/" + package)

    def satisfies(self, word):
        name, value = word.split("=")
        return value in self.chosen[name]


def variant(name, default=None, values=(True, False), **_):
    variants[name] = [[value] for value in values] if isinstance(values, Combination) else list(values)


def noted(*_, when="", **__):
    if when:
        conditions.append(when)


words = types.ModuleType("spack.package")
vars(words).update(
    AutotoolsPackage=Package, version=lambda text, **_: versions.append(text), variant=variant, depends_on=noted, license=noted,
    conflicts=noted, filter_compiler_wrappers=noted, which=noted, any_combination_of=lambda *values: Combination(values))
sys.modules["spack"] = types.ModuleType("spack")
sys.modules["spack.package"] = words

path = os.path.join(TOP, "other/packaging/spack/packages/gasnet/package.py")
scope = {}
with open(path, encoding="utf-8") as file:
    exec(compile(file.read(), path, "exec"), scope)  # as Spack loads it

with open(os.path.join(TOP, "configure.ac"), encoding="utf-8") as file:
    release = re.search(r"AC_INIT\(\[gasnet\], \[([^]]*)\]\)", file.read()).group(1)
ok(versions == [release], f"the recipe is that of release {release}")

named = {re.match(r"[+~]?(\w+)", condition).group(1) for condition in conditions}
ok(named <= set(variants), "conditions name variants that there are")

texts = subprocess.run([os.path.join(TOP, "configure"), "--help"], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
known = set(re.findall(r"--(?:enable|disable|with|without)-([a-z-]+)", texts))
usual = {name: values[0] for name, values in variants.items()}
unknown, made = set(), set()
for name, values in variants.items():
    for value in values:
        recipe = scope["Gasnet"]()
        recipe.spec = Spec({**usual, name: value})
        for option in recipe.configure_args():
            made.add(option)
            word = re.match(r"--(?:enable|disable|with|without)-([a-z-]+)", option)
            if not word or word.group(1) not in known:
                unknown.add(option)
ok(not unknown, "its options are options of configure" + "".join(f", not {option}" for option in sorted(unknown)))
ok(len(made) >= 20, f"each variant makes its options ({len(made)})")
print(f"1..{len(results)}")
sys.exit(not all(results))
